package cutover

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// underLock is the part of an attempt that a rehearsal has too: the lock, the work under it, and its
// release. It can rename nothing.
type underLock struct {
	parts  []*part
	budget Budget

	holder  *dbconn.Session
	trip    time.Duration
	granted time.Time
	whole   Report // what holds for each part
}

// part is a Part at work.
type part struct {
	Part
	readers [2]*sql.Conn // for check
	report  Report       // Drained, Bare and Unsettled
	cost    plan.Swap    // if the swap may be long
}

func newUnderLock(parts []Part, budget Budget) underLock {
	h := underLock{budget: budget}
	for _, p := range parts {
		h.parts = append(h.parts, &part{Part: p})
	}
	return h
}

// reports are one for each part.
func (h *underLock) reports() []Report {
	all := make([]Report, len(h.parts))
	for i, p := range h.parts {
		all[i] = p.report
		all[i].Held, all[i].Waited, all[i].Granted = h.whole.Held, h.whole.Waited, h.whole.Granted
	}
	return all
}

// tables names the sources, for messages.
func (h *underLock) tables() string {
	names := make([]schema.Name, len(h.parts))
	for i, p := range h.parts {
		names[i] = p.Tables.Source
	}
	return schema.List(names)
}

// locked are the tables of all parts, each once.
func (h *underLock) locked() (tables []schema.Name) {
	for _, p := range h.parts {
		for _, name := range p.Tables.locked() {
			if !slices.Contains(tables, name) {
				tables = append(tables, name)
			}
		}
	}
	return tables
}

// Rehearse is Attempt without the swap: it asks for the lock once, does the work under it, and
// releases it. It returns the errors that Attempt returns before the RENAME: the source is
// untouched, no lock is left, and another attempt may be made.
func Rehearse(ctx context.Context, parts []Part, budget Budget) ([]Report, error) {
	h := newUnderLock(parts, budget)
	defer h.close()
	if err := h.open(ctx); err != nil {
		return h.reports(), err
	}
	if err := h.lock(ctx, h.locked()...); err != nil {
		return h.reports(), err
	}
	err := h.drainAll(ctx)
	h.release()
	h.whole.Held = time.Since(h.granted)
	return h.reports(), err
}

// open opens the connections of the attempt: under the lock, opening one would take ten round trips.
func (h *underLock) open(ctx context.Context) (err error) {
	var setup []string
	for _, p := range h.parts {
		setup = append(setup, p.Setup...)
	}
	h.holder, err = h.parts[0].Pool.Session(ctx, append(setup, h.shortLived())...)
	for i := 0; i < len(h.parts) && err == nil; i++ {
		err = h.parts[i].openReaders(ctx)
	}
	if err != nil {
		return fmt.Errorf("open the sessions of the swap: %w", err)
	}
	return h.measureDistance(ctx)
}

func (h *underLock) close() {
	for _, p := range h.parts {
		p.closeReaders()
	}
	if h.holder != nil {
		h.holder.Close()
	}
}

// shortLived makes the server end a session, and release its lock, soon after the client falls
// silent: the client's machine may be gone, or asleep.
func (h *underLock) shortLived() string {
	return fmt.Sprintf("SET SESSION wait_timeout = %d", 2+int(h.budget.Work/time.Second))
}

// lock asks for the lock of the tables once.
func (h *underLock) lock(ctx context.Context, tables ...schema.Name) error {
	requested, err := lock.Request(ctx, h.holder, schema.LockTables(tables...), h.budget.Wait)
	h.whole.Waited = requested.Waited
	if err == nil && !requested.Granted {
		err = ErrNotGranted
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", h.tables(), err)
	}
	h.granted, h.whole.Granted = time.Now(), true
	return nil
}

// release gives the lock back: nothing has happened.
func (h *underLock) release() {
	ctx := context.Background()
	_, _ = h.holder.Exec(ctx, "ROLLBACK") // a lost session has rolled back
	if _, err := h.holder.Exec(ctx, "UNLOCK TABLES"); err != nil {
		h.holder.Close() // the server releases a lost session's locks
	}
}

// drainAll brings the shadows up to the last changes of their sources. At the same time other connections check that the sources are
// still the plans': the lock holds for them as well.
func (h *underLock) drainAll(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, h.budget.Work, ErrOverrun)
	defer cancel()
	found := make([]func() (counters, error), len(h.parts))
	for i, p := range h.parts {
		found[i] = p.check(bounded)
	}
	err := h.receive(bounded)
	for i := 0; i < len(h.parts) && err == nil; i++ {
		err = h.apply(bounded, h.parts[i])
	}
	for i := 0; i < len(h.parts) && err == nil; i++ { // the last changes of each part have table maps of all
		err = h.parts[i].Drain.Save(bounded)
	}
	if err != nil {
		cancel()
	}
	for i, p := range h.parts {
		counters, differs := found[i]()
		if err == nil {
			err = differs
		}
		if err == nil {
			err = h.carryCounter(bounded, p, counters)
		}
	}
	return h.explain(err)
}

// receive receives the last changes of all parts.
func (h *underLock) receive(ctx context.Context) error {
	receiving, ctx := errgroup.WithContext(ctx)
	for _, p := range h.parts {
		receiving.Go(func() error {
			if err := p.Drain.Received(ctx); err != nil {
				return fmt.Errorf("receive the last changes of %s: %w", p.Tables.Source, becauseOf(ctx, err))
			}
			return nil
		})
	}
	return receiving.Wait()
}

// apply applies the last changes of a part.
func (h *underLock) apply(ctx context.Context, p *part) error {
	if err := h.turnTo(ctx, p); err != nil {
		return fmt.Errorf("apply the last changes of %s: %w", p.Tables.Source, err)
	}
	drained, left, err := p.Drain.ApplyAndProve(ctx, h.holder)
	p.report.Drained = drained
	if err != nil {
		return fmt.Errorf("apply the last changes of %s: %w", p.Tables.Source, err)
	}
	if left > 0 {
		return fmt.Errorf("apply the last changes of %s: %d left: %w", p.Tables.Source, left, ErrNotDrained)
	}
	return nil
}

// turnTo gives the session the settings of a part. After open it has those of the last one.
func (h *underLock) turnTo(ctx context.Context, p *part) error {
	if len(h.parts) == 1 {
		return nil
	}
	for _, statement := range append(slices.Clone(p.Settings), h.shortLived()) {
		if _, err := h.holder.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// carryCounter gives the shadow at least the source's AUTO_INCREMENT counter. REQUIRES: the last changes are
// applied; they may have raised the shadow's counter since it was read.
func (h *underLock) carryCounter(ctx context.Context, p *part, read counters) error {
	if read.shadow < read.source && p.report.Drained > 0 {
		shadow, err := showCreate(ctx, p.Pool.DB(), p.Tables.Shadow)
		if err != nil {
			return becauseOf(ctx, err)
		}
		_, read.shadow = schema.SplitAutoIncrement(shadow)
	}
	if read.shadow >= read.source {
		return nil
	}
	if p.Tables.Raise != nil {
		return h.raise(ctx, p.Tables, read.source-1)
	}
	_, err := h.holder.Exec(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", p.Tables.Shadow.Quoted(), read.source))
	if err != nil {
		return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", p.Tables.Source, err)
	}
	return nil
}

// raise writes a row with the number, without strict mode, and rolls it back. InnoDB's counter stays:
// after a duplicate of another unique key, too, because the statement is an INSERT .. SELECT.
// REQUIRES: autocommit is off.
func (h *underLock) raise(ctx context.Context, t Tables, number uint64) error {
	if _, err := h.holder.Exec(ctx, "SET @midstream_mode = @@SESSION.sql_mode, SESSION sql_mode = ''"); err != nil {
		return err
	}
	for _, statement := range t.Raise(number) {
		done, err := h.holder.Exec(ctx, statement)
		if _, failed := h.holder.Exec(ctx, "ROLLBACK"); failed != nil {
			return failed
		}
		if dbconn.Duplicate(err) {
			break
		}
		if err != nil && !dbconn.ValueRefused(err) && !dbconn.NoDefault(err) {
			return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", t.Source, err)
		}
		if err != nil {
			continue
		}
		if rows, err := done.RowsAffected(); err != nil || rows > 0 {
			break
		}
	}
	_, err := h.holder.Exec(ctx, "SET SESSION sql_mode = @midstream_mode")
	return err
}
