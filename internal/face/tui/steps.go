package tui

import (
	"fmt"
	"os"
	"sync"

	"midstream/internal/face/humanize"
)

// Steps shows the progress of long steps, on a terminal in one line that is redrawn. It is safe for
// concurrent use.
type Steps struct {
	Out  *os.File
	Live bool // it is a terminal

	mu   sync.Mutex
	last string
}

// Update shows how far a step has come.
func (s *Steps) Update(label, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Live || text == s.last {
		return
	}
	s.last = text
	fmt.Fprintf(s.Out, "\r\x1b[K  %-9s %s", label, humanize.OneLine(text, 68))
}

// End shows the end of a step.
func (s *Steps) End(label, text string) {
	s.Clear()
	fmt.Fprintf(s.Out, "  %-9s %s\n", label, text)
}

// Clear clears the line.
func (s *Steps) Clear() {
	if s.Live {
		fmt.Fprint(s.Out, "\r\x1b[K")
	}
}
