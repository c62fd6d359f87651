package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// longWait bounds the wait between two attempts.
const longWait = 10 * time.Second

// Work is what a session carries through its attempts.
type Work struct {
	Table schema.Name
	// Server is the one of the first attempt. Its owner closes it.
	Server *Server
	// Open connects again.
	Open func(context.Context) (*Server, error)
	// Reconnect is how long to try to resume after the server could not be reached.
	Reconnect time.Duration
	// MustResume says that a run before has kept its work, which is to be resumed.
	MustResume bool
	// Attempt plans the change and carries it out by settings. With mustResume an attempt before has kept
	// its work: without that, Attempt fails with ErrGone.
	Attempt func(ctx context.Context, s *Server, settings operator.Settings, mustResume bool) (migration.Result, error)
	// Left is what is left on the server once the work is removed, or kept; nil if the table is untouched then.
	Left func(removed bool) string
	// Finish brings an attempt to its end that was lost after its swap, and says whether there was one.
	Finish func(context.Context, *Server) (done bool, err error)
}

// carried is work on its way.
type carried struct {
	Work
	session    *Session
	server     *Server
	opened     bool // the server is one that it has opened itself
	mustResume bool
	failed     time.Time
	wait       time.Duration
	// lost is the last failure of an attempt that had lost its server, and its result.
	lost   *failure.Failure
	result migration.Result
}

// Carry attempts the work as often as it takes, while the server comes and goes, and while the operator
// stops it and lets it resume. Its error is that of an attempt, or an *Error.
func (s *Session) Carry(ctx context.Context, work Work) (migration.Result, error) {
	p := carried{Work: work, session: s, server: work.Server, mustResume: work.MustResume}
	defer func() {
		if p.opened {
			p.server.Close()
		}
	}()
	for {
		began := time.Now()
		var result migration.Result
		stopped, err := s.Attempt(ctx, func(ctx context.Context) (err error) {
			result, err = p.Attempt(ctx, p.server, s.control.Settings(), p.mustResume)
			return err
		})
		if stopped {
			if err := p.standBy(ctx, err); err != nil {
				return result, err
			}
			continue
		}
		if err == nil || !p.mayResume(result, err) {
			return result, p.kept(ctx, err)
		}
		if time.Since(began) > p.Reconnect || p.failed.IsZero() { // it had gone on well before
			p.failed, p.wait = time.Now(), time.Second
		}
		if !p.again(ctx, err) {
			return p.result, p.lost
		}
		if p.lost.Swapped { // the same change must not be done twice
			done, err := p.Finish(ctx, p.server)
			if done || err != nil {
				return p.result, err
			}
			return p.result, p.lost // which tells what is left
		}
		p.mustResume = p.mustResume || p.lost.Kept
	}
}

// standBy waits, after somebody has stopped the change at a checkpoint, until it may resume and the server can
// be reached. If the change is to end instead, its work is removed or kept as that was said.
func (p *carried) standBy(ctx context.Context, stopped error) error {
	var failed *failure.Failure
	kept := errors.As(stopped, &failed) && failed.Kept
	ended := p.session.standBy(ctx)
	began := time.Now()
	for wait := time.Second; ; wait = min(2*wait, longWait) {
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), longWait)
		err := p.reopen(patient)
		cancel()
		if err == nil || ended != nil {
			break
		}
		if time.Since(began) > p.Reconnect {
			return stopped
		}
		p.session.waits(FirstLine(err), "trying again in "+units.Span(wait))
		select {
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-time.After(wait):
		}
	}
	if ended == nil {
		p.mustResume = p.mustResume || kept
		return nil
	}
	if !kept || errors.Is(ended, failure.ErrKeep) {
		return stopped
	}
	return p.remove(ctx, ended, stopped)
}

// kept is the error of an attempt that did not come so far as to resume what one before had
// kept: that is removed where the operator has ended the change, or said to be there.
func (p *carried) kept(ctx context.Context, err error) error {
	var failed *failure.Failure
	if err == nil || !p.mustResume || errors.As(err, &failed) || errors.Is(err, ErrGone) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrInterrupted) && !errors.Is(cause, failure.ErrKeep) {
		return p.remove(ctx, cause, err)
	}
	names := plan.NamesOf(p.Table)
	left := fmt.Sprintf("%s is untouched; %s and %s are kept", p.Table, names.Shadow, names.State)
	if p.Left != nil {
		left = p.Left(false)
	}
	return &Error{
		Outcome: Kept,
		Err:     err,
		Left:    left,
		Next: "after you remove the cause, the same command resumes; midstream cleanup  " + p.Table.Argument() +
			" discards them",
	}
}

// remove drops what was kept, as the operator has ended the change.
func (p *carried) remove(ctx context.Context, ended, stopped error) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	all := func([]leftovers.Table) bool { return true }
	if _, err := leftovers.Cleanup(patient, p.server.Pool, p.Table, false, all, func(string) {}); err != nil {
		return &Error{
			Outcome: Unremoved,
			Err:     fmt.Errorf("%w: %w", ended, err),
			Left:    fmt.Sprintf("%s is untouched; %s", p.Table, FirstLine(stopped)),
			Next:    "midstream cleanup  " + p.Table.Argument(),
		}
	}
	left := fmt.Sprintf("%s is untouched and nothing is left on the server.", p.Table)
	if p.Left != nil {
		left = p.Left(true)
	}
	return &Error{Outcome: Removed, Err: ended, Left: left}
}

// mayResume says that another attempt may resume where this one has failed: it has lost its server,
// or it could not even begin after one that had.
func (p *carried) mayResume(result migration.Result, err error) bool {
	var failed *failure.Failure
	if errors.As(err, &failed) {
		if !failed.Lost {
			return false
		}
		p.lost, p.result = failed, result
	}
	var refused *plan.Refused
	if errors.As(err, &refused) {
		passing := []plan.Code{plan.CodeReadOnly, plan.CodeAtWork, plan.CodeCapture, plan.CodeConnections}
		return p.lost != nil && !slices.ContainsFunc(refused.Blocking, func(r plan.Risk) bool { return !slices.Contains(passing, r.Code) })
	}
	return p.lost != nil && !errors.Is(err, ErrGone)
}

// again waits until the server can be reached, and says whether it can.
func (p *carried) again(ctx context.Context, err error) bool {
	for ctx.Err() == nil && time.Since(p.failed)+p.wait < p.Reconnect {
		p.session.waits(whyLost(err), fmt.Sprintf("going on in %s", p.wait))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(p.wait):
		}
		p.wait = min(2*p.wait, longWait)
		if p.reopen(ctx) == nil {
			return true
		}
	}
	return false
}

// whyLost is why an attempt has lost its server.
func whyLost(err error) string {
	var refused *plan.Refused
	isCode := func(r plan.Risk) bool { return r.Code == plan.CodeReadOnly }
	if errors.Is(err, checkpoint.ErrReadOnly) || dbconn.ReadOnly(err) ||
		errors.As(err, &refused) && slices.ContainsFunc(refused.Blocking, isCode) {
		return "the server is read-only, and the run continues once it can be written"
	}
	return FirstLine(err)
}

// FirstLine is what an error says first, without what to do about it.
func FirstLine(err error) string {
	var failed *failure.Failure
	if errors.As(err, &failed) {
		err = failed.Err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// reopen connects again, and ends what the connections before still do on the server.
func (p *carried) reopen(ctx context.Context) error {
	s, err := p.Open(ctx)
	if err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, longWait)
	defer cancel()
	if err := s.Pool.EndAll(patient, p.server.Pool.Name()); err != nil && !errors.Is(err, dbconn.ErrUnseen) { // else who goes on waits
		s.Close()
		return err
	}
	if p.opened {
		p.server.Close()
	}
	p.server, p.opened = s, true
	return nil
}
