package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/record"
)

// resultRetry is the time between two tries to write a result.
const resultRetry = time.Second

// keepResult writes a result into the file that midstream serve made for it. If the file cannot be
// written now, keepResult tries again until it can, or until an operator interrupts it, because
// serve reads the result there.
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

// leaveResult writes the result of a run that leaves at once. It tries once.
func (c *change) leaveResult(result record.Result) {
	if line, err := json.Marshal(result); err == nil && c.resultFile != "" {
		quickly(func() { _ = writeOver(c.resultFile, append(line, '\n')) })
	}
}

// writeOver writes over the beginning of a file, and so needs no more room on the disk.
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
