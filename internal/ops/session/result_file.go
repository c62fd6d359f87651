package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/record"
)

// resultRetry is the time between two tries to write a result.
const resultRetry = time.Second

// KeepResult writes a result into the file that midstream serve made for it, "" for none. If the file
// cannot be written now, KeepResult tries again until it can, or until an operator interrupts it,
// because serve reads the result there.
func KeepResult(path string, result record.Result, complaints io.Writer, interrupts *Interrupts) {
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
	fmt.Fprintf(complaints, "midstream: cannot write the result: %v\n", err)
	interrupted := make(chan struct{})
	defer interrupts.OnFirst(func() { close(interrupted) })()
	for dbconn.Passes(err) {
		select {
		case <-interrupted:
			return
		case <-time.After(resultRetry):
		}
		err = writeOver(path, append(line, '\n'))
	}
}

// LeaveResult writes the result of a run that leaves at once. It tries once, for a moment.
func LeaveResult(path string, result record.Result) {
	if line, err := json.Marshal(result); err == nil && path != "" {
		Quickly(func() { _ = writeOver(path, append(line, '\n')) })
	}
}

// Quickly does what may have to wait for a reader, and continues without it after 200 ms.
func Quickly(do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(200 * time.Millisecond):
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
