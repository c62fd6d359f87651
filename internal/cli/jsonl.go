package cli

import (
	"encoding/json"
	"io"
	"sync"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// jsonLines writes one record a line.
type jsonLines struct {
	out io.Writer
	mu  sync.Mutex
}

func (j *jsonLines) write(record any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	encoder := json.NewEncoder(j.out) // ends the line
	encoder.SetEscapeHTML(false)
	// Nobody reads any more, or the disk is full: the migration goes on.
	_ = encoder.Encode(record)
}

func (j *jsonLines) Show(e event.Event) {
	if record := record.Of(e); record != nil {
		j.write(record)
	}
}

func (j *jsonLines) Close() {}

// Abandon has nothing written any more: the result, which another writes, is the last line.
func (j *jsonLines) Abandon() { session.Quickly(j.mu.Lock) }
