package tui

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Prefixed begins each line with a text. It is safe for concurrent use.
type Prefixed struct {
	Out    io.Writer
	Mu     *sync.Mutex // of Out
	Prefix string
}

func (p *Prefixed) Write(text []byte) (int, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for line := range bytes.Lines(text) {
		if _, err := fmt.Fprintf(p.Out, "%s%s", p.Prefix, line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
