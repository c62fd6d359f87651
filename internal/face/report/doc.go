// Package report makes a page, JSON or Markdown from the history of a run: the plan, what
// happened, and what is left.
// The page holds all that
// it needs, and reads nothing from anywhere.
package report
