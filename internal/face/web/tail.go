package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// tail reads the lines of a file that grows. Its zero value has no file yet.
type tail struct {
	path  string
	file  *os.File
	begun []byte // a line without its end
	lines int    // lines read so far
}

// read hands over the new lines of a file. Another path than before begins at the first line.
func (t *tail) read(path string, take func(number int, line []byte) error) error {
	if path != t.path {
		t.close()
		*t = tail{path: path}
	}
	if t.path == "" {
		return nil
	}
	if t.file == nil {
		file, err := os.Open(t.path)
		if err != nil {
			return fmt.Errorf("read the history of the run: %w", err)
		}
		t.file = file
	}
	buffer := make([]byte, 1<<16)
	for {
		n, err := t.file.Read(buffer)
		t.begun = append(t.begun, buffer[:n]...)
		if err := t.hand(take); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the history of the run: %w", err)
		}
	}
}

// hand hands over the complete lines.
func (t *tail) hand(take func(number int, line []byte) error) error {
	for {
		line, rest, complete := bytes.Cut(t.begun, []byte("\n"))
		if !complete {
			return nil
		}
		t.lines++
		if err := take(t.lines, line); err != nil {
			return err
		}
		t.begun = rest
	}
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}
