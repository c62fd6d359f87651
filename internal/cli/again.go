package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// longWait bounds the wait between two attempts to go on.
const longWait = 10 * time.Second

// persistent is a run that goes on when its server is there again.
type persistent struct {
	*change
	alter  *ddl.Alter
	server *server
	opened bool // the server is one that it has opened itself
	failed time.Time
	wait   time.Duration
	// lost is the last failure of an attempt that had lost its server, and its result.
	lost   *migration.Failure
	result migration.Result
}

// migrate makes the plan and carries it out, as often as it takes while the server comes and
// goes, and the operator stops it and lets it go on.
func (c *change) migrate(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	return c.underControl(ctx, alter.Table, alter.Clauses, s, func() (migration.Result, error) { return c.persist(ctx, alter, s) })
}

func (c *change) persist(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	p := persistent{change: c, alter: alter, server: s}
	defer func() {
		if p.opened {
			p.server.close()
		}
	}()
	for {
		began := time.Now()
		var result migration.Result
		stopped, err := c.run.attempt(ctx, func(ctx context.Context) (err error) {
			c.settings = c.run.control.Settings()
			result, err = c.attempt(ctx, alter, p.server)
			return err
		})
		if stopped {
			if err := p.standBy(ctx, err); err != nil {
				return result, err
			}
			continue
		}
		if err == nil || !p.mayGoOn(result, err) {
			return result, p.kept(ctx, err)
		}
		if time.Since(began) > c.reconnect || p.failed.IsZero() { // it had gone on well before
			p.failed, p.wait = time.Now(), time.Second
		}
		if !p.again(ctx, err) {
			return p.result, p.lost
		}
		if p.lost.Swapped { // the same ALTER must not be done twice
			_, done, err := c.finish(ctx, alter, p.server)
			if done || err != nil {
				return p.result, err
			}
			return p.result, p.lost // which tells what is left
		}
		c.mustResume = c.mustResume || p.lost.Kept
	}
}

// standBy waits, after somebody has stopped the run at a checkpoint, until it may go on and the server can be
// reached. If the run is to end instead, its work is removed or kept as that was said.
func (p *persistent) standBy(ctx context.Context, stopped error) error {
	var failure *migration.Failure
	kept := errors.As(stopped, &failure) && failure.Kept
	ended := p.run.standBy(ctx)
	began := time.Now()
	for wait := time.Second; ; wait = min(2*wait, longWait) {
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), longWait)
		err := p.reopen(patient)
		cancel()
		if err == nil || ended != nil {
			break
		}
		if time.Since(began) > p.reconnect {
			return stopped
		}
		p.run.waits(firstLine(err), fmt.Sprintf("trying again in %s", wait))
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
	if !kept || errors.Is(ended, migration.ErrKeep) {
		return stopped
	}
	return p.remove(ctx, ended, stopped)
}

// kept is the error of an attempt that did not come so far as to go on with what one before had
// kept: that is removed where the operator has ended the run, or said to be there.
func (p *persistent) kept(ctx context.Context, err error) error {
	var failure *migration.Failure
	if err == nil || !p.mustResume || errors.As(err, &failure) || errors.Is(err, errGone) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errInterrupted) && !errors.Is(cause, migration.ErrKeep) {
		return p.remove(ctx, cause, err)
	}
	names := plan.NamesOf(p.alter.Table)
	return &coded{
		code: exitStopped,
		err:  err,
		left: fmt.Sprintf("%s is untouched; %s and %s are kept", p.alter.Table, names.Shadow, names.State),
		next: "the same command goes on with them once the cause is removed; midstream cleanup " + p.alter.Table.Argument() + " gives them up",
	}
}

// remove drops what was kept, as the operator has ended the run.
func (p *persistent) remove(ctx context.Context, ended, stopped error) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	source := p.alter.Table
	if _, err := leftovers.Cleanup(
		patient,
		p.server.pool,
		source,
		false,
		func([]leftovers.Table) bool { return true },
		func(string) {},
	); err != nil {
		return &coded{
			code: exitLeftovers,
			err:  fmt.Errorf("%w: %w", ended, err),
			left: fmt.Sprintf("%s is untouched; %s", source, firstLine(stopped)),
			next: "midstream cleanup " + source.Argument(),
		}
	}
	return &coded{code: exitAborted, err: ended, left: fmt.Sprintf("%s is untouched and nothing is left on the server.", source)}
}

// mayGoOn says that another attempt may go on where this one has failed: it has lost its server,
// or it could not even begin after one that had.
func (p *persistent) mayGoOn(result migration.Result, err error) bool {
	var failure *migration.Failure
	if errors.As(err, &failure) {
		if !failure.Lost {
			return false
		}
		p.lost, p.result = failure, result
	}
	var refused *plan.Refused
	if errors.As(err, &refused) {
		passes := func(r plan.Risk) bool {
			return r.Code == plan.CodeReadOnly || r.Code == plan.CodeAtWork || r.Code == plan.CodeCapture
		}
		return p.lost != nil && !slices.ContainsFunc(refused.Blocking, func(r plan.Risk) bool { return !passes(r) })
	}
	return p.lost != nil && !errors.Is(err, errGone)
}

// again waits until the server can be reached, and says whether it can.
func (p *persistent) again(ctx context.Context, err error) bool {
	for ctx.Err() == nil && time.Since(p.failed)+p.wait < p.reconnect {
		p.run.waits("stopped: "+firstLine(err), fmt.Sprintf("going on in %s", p.wait))
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

// firstLine is what an error says first, without what to do about it.
func firstLine(err error) string {
	var failure *migration.Failure
	if errors.As(err, &failure) {
		err = failure.Err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// reopen connects anew, and ends what the connections before still do on the server.
func (p *persistent) reopen(ctx context.Context) error {
	s, err := p.connection.open(ctx, p.server.cfg)
	if err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, longWait)
	defer cancel()
	if err := s.pool.EndAll(patient, p.server.pool.Name()); err != nil && !errors.Is(err, dbconn.ErrUnseen) { // else who goes on waits
		s.close()
		return err
	}
	if p.opened {
		p.server.close()
	}
	p.server, p.opened = s, true
	return nil
}

// attempt makes the plan and carries it out.
func (c *change) attempt(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	if c.options.Purpose.Rehearses() {
		return c.rehearse(ctx, alter, s)
	}
	if result, done, err := c.finish(ctx, alter, s); done || err != nil {
		return result, err
	}
	p, result, err := c.carryOut(ctx, alter, s, (*migration.Migration).Run)
	if errors.Is(err, leftovers.ErrSwapped) { // while this one looked
		return c.attempt(ctx, alter, s)
	}
	if err != nil {
		return result, err
	}
	c.output.done(
		p.Source.Name, result,
		summary.Brief(p, result),
		summary.OfRun(summary.Planned{Plan: p, Config: c.config, Settings: c.settings}, result, processUsage(), c.output.style()),
	)
	return result, nil
}
