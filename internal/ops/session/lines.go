package session

import (
	"encoding/json"
	"io"
	"sync"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
)

// Lines is a Display that writes records as JSON, one a line. It is safe for concurrent use.
type Lines struct {
	Out io.Writer
	// Table is the first field of the records of events, if the lines are those of several tables; else "".
	Table string
	mu    sync.Mutex
	last  event.Progress // that was written
}

// Write writes one record. It reports no error: a migration continues if no program reads any more,
// or if the disk is full.
func (l *Lines) Write(record any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	encoder := json.NewEncoder(l.Out) // ends the line
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(record)
}

// Show writes the record of an event, if it has one. A run that is held tells its progress on change, and each minute.
func (l *Lines) Show(e event.Event) {
	if p, is := e.(event.Progress); is {
		l.mu.Lock()
		still := p.Still(l.last)
		if !still {
			l.last = p
		}
		l.mu.Unlock()
		if still {
			return
		}
	}
	if record := record.Of(e); record != nil {
		l.Write(l.named(record))
	}
}

// named is a record with the table.
func (l *Lines) named(record any) any {
	text, err := json.Marshal(record)
	if l.Table == "" || err != nil || len(text) < 2 {
		return record
	}
	table, err := json.Marshal(map[string]string{"table": l.Table})
	if err != nil {
		return record
	}
	return json.RawMessage(string(table[:len(table)-1]) + "," + string(text[1:]))
}

// Close does nothing: each line was written at once.
func (l *Lines) Close() {}

// Abandon stops the writing: the result, which another Lines writes, is the last line.
func (l *Lines) Abandon() { Quickly(l.mu.Lock) }
