package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/socket"
)

// idForm is what an id looks like: it names a folder, too.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// longest is the most bytes of a statement: it is an argument of a process.
const longest = 100_000

// bad is the answer to a submission that can't be taken.
func bad(what, why, next string) *socket.Problem {
	return &socket.Problem{Status: http.StatusUnprocessableEntity, Title: what, Detail: why, Next: next}
}

func unknown(id string) *socket.Problem {
	return &socket.Problem{
		Status: http.StatusNotFound,
		Title:  "there is no change " + id,
		Next:   "midstream queue lists all changes",
	}
}

const notQueued = "the change is not taken into the queue"

// Submit takes a change into the queue, and says whether it is a new one. from is where it comes
// from. It fails with a *socket.Problem, or with what the store says.
func (s *Service) Submit(ctx context.Context, asked Submission, from string) (c Change, fresh bool, err error) {
	asked = tidied(asked)
	if asked.ID == "" {
		asked.ID = strings.ToLower(rand.Text()[:10])
	}
	if !idForm.MatchString(asked.ID) {
		return c, false, bad(
			notQueued, fmt.Sprintf("%q is no id: it has letters, digits and . _ -, and at most 64 of them", asked.ID),
			"give another id, or none",
		)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if there := s.find(asked.ID); there != nil {
		if !there.asks(asked) {
			return c, false, &socket.Problem{
				Status: http.StatusConflict,
				Title:  notQueued,
				Detail: "there is another change with the id " + asked.ID + ", of " + there.Table,
				Next:   "give another id, or none",
			}
		}
		if there.Why != unanswered {
			return s.view(there), false, nil
		}
	}
	statement, problem := s.read(asked)
	if problem == nil {
		problem = s.checkAfter(asked.After)
	}
	if problem != nil {
		return c, false, problem
	}
	e := &entry{Tables: append(statement.Tables(), statement.Parents...), Sequence: s.last() + 1}
	e.Change = Change{
		ID:          asked.ID,
		Server:      asked.Server,
		Table:       e.Tables[0].Dotted(),
		Statement:   asked.Statement,
		Options:     asked.Options,
		After:       asked.After,
		State:       StateWaiting,
		Submitted:   time.Now().UTC(),
		SubmittedBy: strings.TrimPrefix(asked.By+" from "+from, " "),
	}
	if err := s.replace(ctx, e); err != nil {
		s.doubted[e.ID] = true
		return c, false, err
	}
	delete(s.doubted, e.ID)
	s.hurry()
	return s.view(e), true, nil
}

// unanswered is why a change is withdrawn that nobody counts on; the same submission begins it anew.
const unanswered = "its submission was answered with an error, as the store did not answer. Nothing was begun"

// settleDoubts looks for the submissions that were answered with an error: the store may have them
// all the same, where its answer was lost. Nobody counts on such a one any more, so it is
// withdrawn, lest it runs weeks later. REQUIRES: writing is held.
func (s *Service) settleDoubts(ctx context.Context) error {
	if len(s.doubted) == 0 {
		return nil
	}
	kept, err := s.load(ctx)
	if err != nil {
		return err
	}
	for _, e := range kept {
		if !s.doubted[e.ID] || e.State != StateWaiting {
			continue
		}
		e.end(StateWithdrawn, unanswered, "submit it again, with this id or another")
		if err := s.replace(ctx, e); err != nil {
			return err
		}
	}
	clear(s.doubted)
	return nil
}

// tidied spells a submission as a change has it.
func tidied(asked Submission) Submission {
	asked.Statement = strings.TrimSpace(asked.Statement)
	asked.Options = maps.Clone(asked.Options)
	if asked.Options == nil {
		asked.Options = map[string]string{}
	}
	if asked.After == nil {
		asked.After = []string{}
	}
	return asked
}

// read reads the statement of a submission, with its options.
func (s *Service) read(asked Submission) (*ddl.Statement, error) {
	if _, known := s.cfg.Servers[asked.Server]; !known {
		names := strings.Join(slices.Sorted(maps.Keys(s.cfg.Servers)), ", ")
		return nil, bad(notQueued, fmt.Sprintf("there is no server %q", asked.Server), "name one of those that the service knows: "+names)
	}
	if len(asked.Statement) > longest || strings.ContainsRune(asked.Statement, 0) {
		return nil, bad(
			notQueued,
			fmt.Sprintf("the statement has %d bytes, or a zero byte among them; at most %d are taken", len(asked.Statement), longest),
			"give a shorter one",
		)
	}
	if asked.Statement == "" {
		return nil, bad(notQueued, "there is no statement", `say what to change: ALTER TABLE shop.orders ADD COLUMN ...`)
	}
	if err := checkOptions(asked.Options); err != nil {
		return nil, bad(
			notQueued, err.Error(),
			"docs/serve.md lists the options that may be given; others belong into the server's option file",
		)
	}
	statement, err := s.cfg.Read(arguments(asked.Options), asked.Statement)
	if err != nil {
		return nil, bad(notQueued, err.Error(), "correct it, and submit it again")
	}
	return statement, nil
}

// checkAfter says what is wrong with ids to come after.
func (s *Service) checkAfter(ids []string) error {
	for _, id := range ids {
		if before := s.find(id); before == nil {
			return bad(notQueued, "it is to come after "+id+", and there is no such change", "submit that one first")
		} else if before.State.Over() && before.State != StateDone {
			return bad(
				notQueued, fmt.Sprintf("it is to come after %s, which is %s", id, before.State),
				"submit that change again with another id, and name that",
			)
		}
	}
	return nil
}

// last is the number of the youngest change.
func (s *Service) last() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.board.last
}

// Withdraw takes a change out of the queue that has not begun, or whose run another service has
// begun that is not there any more.
func (s *Service) Withdraw(ctx context.Context, id string) (Change, error) {
	const what = "the change is not withdrawn"
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil {
		return Change{}, unknown(id)
	}
	changed := *e
	switch {
	case e.State == StateWithdrawn:
		return s.view(e), nil
	case e.State == StateWaiting && e.Why != "":
		changed.end(
			StateWithdrawn, "it was withdrawn while it waited to be tried again: "+e.Why,
			"see what is left, and remove it, with: midstream cleanup "+schema.NameOf(e.Table).Argument(),
		)
	case e.State == StateWaiting:
		changed.end(StateWithdrawn, "it was withdrawn before it had begun", "")
	case e.State == StateRunning && e.Place != s.place:
		changed.end(
			StateUnknown, "it was withdrawn while "+e.Place+" may have been at work on it",
			"see what is left, and remove it, with: midstream cleanup "+schema.NameOf(e.Table).Argument(),
		)
	case e.State == StateRunning:
		return Change{}, &socket.Problem{
			Status: http.StatusConflict,
			Title:  what,
			Detail: "its run is at work",
			Next:   "abort ends the run, and leaves the table as it was",
		}
	default:
		return Change{}, &socket.Problem{Status: http.StatusConflict, Title: what, Detail: "it is " + string(e.State) + " already"}
	}
	if err := s.replace(ctx, &changed); err != nil {
		return Change{}, err
	}
	s.hurry()
	return s.view(&changed), nil
}
