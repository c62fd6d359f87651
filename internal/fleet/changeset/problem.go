package changeset

import (
	"fmt"
	"strings"
)

// Problem is something wrong in a file.
type Problem struct {
	Line int
	// What is wrong, Why it matters, and Next: what to do.
	What, Why, Next string
}

// Error is all that is wrong in a file.
type Error struct {
	File     string
	Problems []Problem
}

// Error has a line for each problem.
func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, fmt.Sprintf("%s, line %d: %s: %s; %s", e.File, p.Line, p.What, p.Why, p.Next))
	}
	return strings.Join(lines, "\n")
}

// nearest returns the word that was meant, perhaps; "" for none.
func nearest(word string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		if d := distance(strings.ToLower(word), w); d < least && d < len(w) {
			best, least = w, d
		}
	}
	return best
}

// distance is the number of letters to change, add or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above, row[j+1] = row[j+1], min(above+cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
