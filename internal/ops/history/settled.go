package history

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"midstream/internal/ops/record"
)

// settled is what has become of the undo that the last run on a table has left, without another run.
type settled struct {
	At    time.Time // by the clock of this machine; zero: only the work of a run was removed
	Until time.Time // zero: it was ended
	// Begun means that an undo had begun by At, and had not swapped: it may be that of a run which was killed.
	Begun bool `json:",omitempty"`
	// Cleaned is when the work of a run that was killed was removed, by the clock of this machine.
	Cleaned time.Time `json:",omitzero"`
}

// Settle notes in the folder that the undo of a table was ended, or is open until another time. begun means that an undo has begun,
// and has not swapped. "" is no folder.
func Settle(folder, server, table string, until time.Time, begun bool) error {
	return note(folder, server, table, func(s *settled) { s.At, s.Until, s.Begun = time.Now().UTC(), until, begun })
}

// Cleaned notes in the folder that the work of a run on a table was removed. "" is no folder.
func Cleaned(folder, server, table string) error {
	return note(folder, server, table, func(s *settled) { s.Cleaned = time.Now().UTC() })
}

// note changes what is noted of a table.
func note(folder, server, table string, change func(*settled)) error {
	if folder == "" {
		return nil
	}
	known, _ := noted(folder, server, table)
	change(&known)
	text, err := json.Marshal(known)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(settledPath(folder, server, table), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note what has become of the undo: %w", err)
	}
	return nil
}

func settledPath(folder, server, table string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + table))
	return filepath.Join(folder, fmt.Sprintf("undo-%x.json", sum[:8]))
}

// noted is what is noted of a table.
func noted(folder, server, table string) (known settled, is bool) {
	text, err := os.ReadFile(settledPath(folder, server, table))
	return known, err == nil && json.Unmarshal(text, &known) == nil
}

// settledSince reports whether the work of a run was removed after it began, or the undo of its table was settled. More time for an undo
// that has begun does not settle it.
func (e *Entry) settledSince(folder string) bool {
	known, is := noted(folder, e.Run.Server, e.Run.Table)
	began, err := time.Parse(record.RFC3339, e.Run.At)
	return is && err == nil && (known.At.After(began) && !known.Begun || known.Cleaned.After(began))
}

// settle changes the undo of a run to what has become of it since.
func (e *Entry) settle(folder string) {
	since, is := noted(folder, e.Run.Server, e.Run.Table)
	if !is || since.At.IsZero() || e.Result == nil || e.Result.Undo == nil {
		return
	}
	if began, err := time.Parse(record.RFC3339, e.Run.At); err != nil || began.After(since.At) {
		return
	}
	e.settled = since.At
	if e.Result.Undo.Until = since.Until; since.Until.IsZero() {
		e.Result.Undo = nil
	}
}

// LastDone returns the newest run that has changed a table; nil if there is none. Its undo is as Settle has left it.
func LastDone(folder, table string) *Entry {
	if done := newest(folder, func(e *Entry) bool { return e.Of(table) }); len(done) > 0 {
		return &done[0]
	}
	return nil
}

// Done returns the newest run that has changed each table of each server, the newest first. Their undos are as Settle has left them.
func Done(folder string) []Entry { return newest(folder, func(*Entry) bool { return true }) }

// newest is Done for the wanted runs.
func newest(folder string, wanted func(*Entry) bool) (done []Entry) {
	entries, err := List(folder)
	if err != nil {
		return nil
	}
	seen := map[subject]bool{}
	for _, e := range entries {
		of := e.subject()
		if e.Result == nil || e.Result.Outcome != "done" || e.Run.Rehearsal != "" || seen[of] || !wanted(&e) {
			continue
		}
		seen[of] = true
		e.settle(folder)
		done = append(done, e)
	}
	return done
}
