package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/record"
)

// resultRetry is the time between two tries to write a result.
const resultRetry = time.Second

// keepResult writes a result into a file that was made for it, with room on its disk. If that can't take it now, it waits until it can, or until
// the operator interrupts it: whoever began the run reads there what has become of it, and nowhere else.
func (a *app) keepResult(path string, result record.Result) {
	if path == "" {
		return
	}
	line, err := json.Marshal(result)
	if err == nil {
		err = writeOver(path, append(line, '\n'))
	}
	if err == nil {
		return
	}
	fmt.Fprintf(a.Stderr, "midstream: the result can't be written: %v\n", err)
	interrupted := make(chan struct{})
	defer a.Interrupts.OnFirst(func() { close(interrupted) })()
	for dbconn.Passes(err) {
		select {
		case <-interrupted:
			return
		case <-time.After(resultRetry):
		}
		err = writeOver(path, append(line, '\n'))
	}
}

// leaveResult writes the result of a run that leaves at once, if it can.
func (c *change) leaveResult(result record.Result) {
	if line, err := json.Marshal(result); err == nil && c.resultFile != "" {
		quickly(func() { _ = writeOver(c.resultFile, append(line, '\n')) })
	}
}

// writeOver writes over the beginning of a file, which needs no room on the disk that the file has not.
func writeOver(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
