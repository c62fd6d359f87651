// Package specs derives from a plan, and from the shadow that the server made, what the stages work
// on: what is synced, what the prescan tries, and what verify compares. It asks no server.
package specs
