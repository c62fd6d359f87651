package session

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/ops/record"
)

// TestAReadOnlyServerIsNamedAsThat: a run that has lost its server because that became read-only says so, whichever of its
// statements has failed, or although it could not even plan again.
func TestAReadOnlyServerIsNamedAsThat(t *testing.T) {
	t.Parallel()
	refusal := func(codes ...plan.Code) error {
		refused := &plan.Refused{Table: "shop.orders"}
		for _, code := range codes {
			refused.Blocking = append(refused.Blocking, plan.Risk{Code: code})
		}
		return refused
	}
	for name, c := range map[string]struct {
		err   error
		named bool
	}{
		"heartbeat": {&failure.Failure{Err: fmt.Errorf("beat: %w", checkpoint.ErrReadOnly)}, true},
		"plan":      {refusal(plan.CodeAtWork, plan.CodeReadOnly), true},
		"claimed":   {refusal(plan.CodeAtWork), false},
		"another":   {errors.New("connection refused"), false},
	} {
		if got := whyLost(c.err); (got == "the server is read-only, and the run continues once it can be written") != c.named {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// remarks are the notes of a session.
type remarks []string

func (r *remarks) Note(text string) { *r = append(*r, text) }

func (r *remarks) Event(e event.Event) {
	if note, is := e.(event.Note); is {
		r.Note(note.Text)
	}
}

// TestAWaitForTheServerIsNotRepeated: while a run waits for its server for one reason, it reports that once a minute.
func TestAWaitForTheServerIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said remarks
		told, err := Machines{}.begin(record.Run{}, "")
		if err != nil {
			t.Fatal(err)
		}
		s := &Session{show: &said, told: told, ended: make(chan struct{})}
		for range 12 { // two minutes
			s.waits("the server is read-only", "going on in 10s")
			time.Sleep(10 * time.Second)
		}
		s.waits("connection refused", "going on in 1s")
		if len(said) != 3 || s.lostBy() != "connection refused" {
			t.Errorf("%q", said)
		}
	})
}
