// Package summary writes plans, refusals and results for people: the decision and its cost first, the
// details only if the user asks for them.
package summary
