package queue

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Attempt is an earlier attempt of a change that was run again.
type Attempt struct {
	Number   int        `json:"number" doc:"number of the attempt, from 1"`
	State    State      `json:"state" enum:"failed,aborted,withdrawn,unknown" doc:"state that the attempt ended in"`
	Why      string     `json:"why" doc:"how it ended, for people; may be empty"`
	ExitCode *int       `json:"exit_code" doc:"exit code of its run (docs/exit-codes.md); null if there is none"`
	Began    *time.Time `json:"began" doc:"time when its run began; null if it did not begin"`
	Ended    *time.Time `json:"ended" doc:"time when it ended"`
	By       string     `json:"by" doc:"who asked for the attempt, in free text, and from which address"`
}

// AgainRequest asks to run a change again.
type AgainRequest struct {
	Attempt int    `json:"attempt,omitempty" minimum:"0" doc:"number of the attempt to begin, such as 2 after the first one. If the change has that attempt already, the request has no effect, so a script may repeat it. Without it, the request is refused while the change waits or runs"`
	By      string `json:"by,omitempty" maxLength:"200" doc:"who asks, in free text"`
}

// How another attempt of a change would begin.
const (
	againBegins   = "begin"
	againResumes  = "resume"
	againRestarts = "restart"
)

// mostAttempts bounds the earlier attempts that a change lists: the newest.
const mostAttempts = 50

// number is that of the attempt of a change. Stores of earlier versions have none.
func (c Change) number() int { return max(1, c.Attempt) }

// another is how another attempt would begin; "" if the change cannot be run again.
func (c Change) another() string {
	code := 0
	if c.ExitCode != nil {
		code = *c.ExitCode
	}
	switch {
	case !c.State.Over() || c.State == StateDone:
		return ""
	case c.State == StateUnknown || // its work is kept, and so it is with these codes; with the next ones it was removed
		slices.Contains([]int{record.CodeUnknown, record.CodeStopped, record.CodeAtOnce}, code):
		return againResumes
	case slices.Contains([]int{record.CodeFailed, record.CodeAborted, record.CodeMismatch, record.CodeUnfit}, code):
		return againRestarts
	}
	return againBegins
}

// runAgain is the command that runs a change again.
func runAgain(id string) string { return "midstream submit  --again --id=" + id }

// Again runs a change again under its id, and says whether that is a new attempt. It fails with a *socket.Problem, or with what the
// store says.
func (s *Service) Again(ctx context.Context, id string, asked AgainRequest, who Asker) (c Change, fresh bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil {
		return c, false, unknown(id)
	}
	if asked.Attempt > 0 && asked.Attempt <= e.number() {
		return s.view(e), false, nil
	}
	if err := s.mayRunAgain(e, asked.Attempt); err != nil {
		return c, false, err
	}
	for _, other := range s.all() { // it has failed for them: their turn must not come after this one's
		if other.State == StateWaiting && slices.Contains(other.After, id) {
			if err := s.advance(ctx, other); err != nil {
				return c, false, err
			}
		}
	}
	changed := e.again(who.Words(asked.By))
	changed.Sequence = s.last() + 1
	if err := s.proposes(changed); err != nil {
		return c, false, err
	}
	if err := s.replace(ctx, changed, who.Act("again", asked.By, "")); err != nil {
		s.doubted[id] = true
		return c, false, err
	}
	delete(s.doubted, id)
	s.hurry()
	return s.view(changed), true, nil
}

// again is the change with its next attempt, which waits.
func (e *entry) again(by string) *entry {
	asker := e.AgainBy
	if asker == "" {
		asker = e.SubmittedBy
	}
	attempts := append(slices.Clone(e.Attempts), Attempt{
		Number: e.number(), State: e.State, Why: e.Why, ExitCode: e.ExitCode, Began: e.Began, Ended: e.Ended, By: asker,
	})
	changed := &entry{Tables: e.Tables, Texts: e.Texts, Taken: e.Taken, Told: e.Told, Member: e.Member, Change: Change{
		ID: e.ID, Server: e.Server, Table: e.Table, Together: e.Together, Statement: e.Statement, Files: e.Files,
		Options: e.Options, After: e.After, Priority: e.Priority, NotBefore: e.NotBefore, Window: e.Window,
		Undoes: e.Undoes, State: StateWaiting, Submitted: e.Submitted, SubmittedBy: e.SubmittedBy, Author: e.Author, Approval: e.Approval,
		Attempt: e.number() + 1, Attempts: attempts[max(0, len(attempts)-mostAttempts):], AgainBy: by,
	}}
	changed.mayPassLater(false)
	return changed
}

// mayRunAgain fails with a *socket.Problem if a change cannot be run again now. next is the number of the attempt; 0 for any.
func (s *Service) mayRunAgain(e *entry, next int) error {
	no := func(why, next string) error {
		return &socket.Problem{Status: http.StatusConflict, Title: "the change cannot be run again", Detail: why, Next: next}
	}
	switch {
	case !e.State.Over() && e.number() > 1:
		return no(fmt.Sprintf("it is %s already, as attempt %d", e.State, e.number()), "midstream queue  "+e.ID+" shows how far it is")
	case !e.State.Over():
		return no("it is "+string(e.State), "midstream queue  "+e.ID+" shows how far it is")
	case e.State == StateDone:
		return no("it is done", "submit another change with another id")
	case !s.servers.has(e.Server):
		return no(e.Server+gone, "put it back into the inventory (or --server)")
	case next > e.number()+1:
		return no(fmt.Sprintf("attempt %d would be the next one, not %d", e.number()+1, next), "midstream queue  "+e.ID+" lists its attempts")
	}
	for _, id := range e.After {
		if before := s.find(id); before == nil || before.State.Over() && before.State != StateDone {
			why := "it depends on change " + id + ", which does not exist"
			if before != nil {
				why = fmt.Sprintf("it depends on change %s, which is %s", id, before.State)
			}
			return no(why, "run that change again first: "+runAgain(id))
		}
	}
	if of := s.find(e.Undoes); of != nil {
		return s.mayUndo(of)
	}
	return nil
}
