// Package sets has the change sets of midstream serve: the API, the store and the drivers.
package sets
