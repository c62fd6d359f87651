package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

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
		Title:  "no such change: " + id,
		Next:   "midstream queue  lists all changes",
	}
}

const notQueued = "the queue refuses the change"

// Submit takes a change into the queue, and says whether it is a new one. who asks for
// it. It fails with a *socket.Problem, or with what the store says.
func (s *Service) Submit(ctx context.Context, asked Submission, who Asker) (c Change, fresh bool, err error) {
	asked = tidied(asked)
	if asked.ID == "" {
		asked.ID = strings.ToLower(rand.Text()[:10])
	}
	if !idForm.MatchString(asked.ID) {
		return c, false, bad(
			notQueued, fmt.Sprintf("%q is not an id: an id must be at most 64 letters, digits and . _ -", asked.ID),
			"use another id, or none",
		)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if there := s.find(asked.ID); there != nil {
		if !there.asks(asked) {
			return c, false, &socket.Problem{
				Status: http.StatusConflict,
				Title:  notQueued,
				Detail: "another change has the id " + asked.ID + ", of " + s.view(there).Named(),
				Next:   "use another id, or none",
			}
		}
		if there.Why != unanswered || there.number() > 1 {
			return s.view(there), false, nil
		}
	}
	tables, problem := s.read(asked)
	if problem == nil {
		problem = s.checkAfter(asked.After)
	}
	if problem == nil {
		problem = checkStart(asked)
	}
	if problem != nil {
		return c, false, problem
	}
	e := &entry{Tables: tables, Texts: asked.Files, Sequence: s.last() + 1}
	e.Change = Change{
		ID:          asked.ID,
		Server:      asked.Server,
		Table:       e.Tables[0].Dotted(),
		Together:    asked.Together,
		Statement:   asked.Statement,
		Files:       fileNames(asked.Files),
		Options:     asked.Options,
		After:       asked.After,
		Priority:    asked.Priority,
		NotBefore:   asked.NotBefore,
		Window:      asked.Window,
		State:       StateWaiting,
		Submitted:   time.Now().UTC(),
		SubmittedBy: who.Words(asked.By),
		Author:      who.Author(asked.By),
	}
	if err := s.proposes(e); err != nil {
		return c, false, err
	}
	if err := s.replace(ctx, e, who.Act("submit", asked.By, "")); err != nil {
		s.doubted[e.ID] = true
		return c, false, err
	}
	delete(s.doubted, e.ID)
	s.hurry()
	return s.view(e), true, nil
}

// unanswered is why a change is withdrawn that nobody counts on; the same submission begins it anew.
const unanswered = "the service answered its submission with an error, because the store did not answer. Nothing was begun"

// settleDoubts looks for the submissions that were answered with an error: the store may have them
// all the same, where its answer was lost. Nobody counts on such a one any more, so it is
// withdrawn, lest it runs weeks later. After such an approval, the change is kept as proposed again.
// REQUIRES: writing is held.
func (s *Service) settleDoubts(ctx context.Context) error {
	if len(s.doubted) == 0 {
		return nil
	}
	kept, err := s.load(ctx)
	if err != nil {
		return err
	}
	for _, e := range kept {
		if !s.doubted[e.ID] || e.State != StateWaiting && e.State != StateProposed {
			continue
		}
		if there := s.find(e.ID); there != nil && there.State == StateProposed {
			e = there
		} else {
			e.end(StateWithdrawn, unanswered, e.answerAgain())
		}
		if err := s.replace(ctx, e); err != nil {
			return err
		}
	}
	clear(s.doubted)
	return nil
}

// answerAgain is how a change whose submission was answered with an error is submitted again.
func (e *entry) answerAgain() string {
	if e.number() > 1 {
		return runAgain(e.ID)
	}
	return "submit it again, with this id or another id"
}

// tidied spells a submission as a change has it.
func tidied(asked Submission) Submission {
	asked = asFiled(grouped(asked))
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

// read reads the statements of a submission, with its options, and returns all tables that they are about.
func (s *Service) read(asked Submission) ([]schema.Name, error) {
	if err := s.hasServer(notQueued, asked.Server); err != nil {
		return nil, err
	}
	if len(asked.Statement) > longest || strings.ContainsRune(asked.Statement, 0) {
		return nil, bad(
			notQueued,
			fmt.Sprintf("the statement has %d bytes, or a zero byte; at most %d bytes are allowed, and no zero byte", len(asked.Statement), longest),
			"submit a shorter statement",
		)
	}
	if asked.Statement == "" {
		return nil, bad(notQueued, "the statement is missing", `submit a statement, such as ALTER TABLE shop.orders ADD COLUMN ...`)
	}
	e := &entry{Change: Change{Together: asked.Together, Statement: asked.Statement, Options: asked.Options}}
	if asked.member {
		e.Member = &ordered{}
	}
	if err := checkOptions(asked.Options, optionsOf(e.verb())); err != nil {
		return nil, bad(
			notQueued, err.Error(),
			"docs/serve.md lists the permitted options; set others in the server's option file",
		)
	}
	if len(asked.Statements) > 0 {
		return nil, bad(notQueued, "there are several statements, and together is not true", oneOrTogether)
	}
	if len(asked.Files) > 0 {
		return s.readFiles(asked, e)
	}
	tables, err := s.cfg.Read(e.verb(), s.reads(asked.Server, e), asked.Statement)
	if err != nil {
		next := "correct the statement, and submit it again"
		if asked.Together {
			next = afterBadGroup
		}
		return nil, bad(notQueued, err.Error(), next)
	}
	return tables, nil
}

// checkAfter says what is wrong with ids to come after.
func (s *Service) checkAfter(ids []string) error {
	for _, id := range ids {
		if before := s.find(id); before == nil {
			return bad(notQueued, "it depends on change "+id+", which does not exist", "submit that change first")
		} else if before.State.Over() && before.State != StateDone {
			return bad(
				notQueued, fmt.Sprintf("it depends on change %s, which is %s", id, before.State),
				"run that change again first: "+runAgain(id),
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
func (s *Service) Withdraw(ctx context.Context, id, reason string, who Asker) (Change, error) {
	const what = "the change cannot be withdrawn"
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil {
		return Change{}, unknown(id)
	}
	if err := who.mayWithdraw(e); err != nil {
		return Change{}, err
	}
	changed := *e
	switch {
	case e.State == StateWithdrawn:
		return s.view(e), nil
	case e.State == StateProposed:
		changed.end(StateWithdrawn, "it was withdrawn before it was approved", "")
	case e.State == StateWaiting && e.Why != "":
		changed.end(
			StateWithdrawn, "it was withdrawn while it waited for another attempt: "+e.Why,
			"list and remove what is left with: "+e.cleanups(),
		)
	case e.State == StateWaiting && e.number() > 1:
		changed.end(
			StateWithdrawn, fmt.Sprintf("it was withdrawn before attempt %d began", e.number()),
			"list and remove what earlier attempts have left with: "+e.cleanups(),
		)
	case e.State == StateWaiting:
		changed.end(StateWithdrawn, "it was withdrawn before it began", "")
	case e.State == StateRunning && e.Place != s.place:
		changed.end(
			StateUnknown, "it was withdrawn while "+e.Place+" may have worked on it",
			"list and remove what is left with: "+e.cleanups(),
		)
	case e.State == StateRunning:
		return Change{}, &socket.Problem{
			Status: http.StatusConflict,
			Title:  what,
			Detail: "its run is active",
			Next:   e.aborts() + " on the machine of the service, or Abort on the page of the change, stops the run and leaves the table unchanged",
		}
	default:
		return Change{}, &socket.Problem{Status: http.StatusConflict, Title: what, Detail: "it is " + string(e.State) + " already"}
	}
	changed.Why = because(changed.Why, reason)
	if err := s.replace(ctx, &changed, who.Act("withdraw", "", reason)); err != nil {
		return Change{}, err
	}
	s.hurry()
	return s.view(&changed), nil
}
