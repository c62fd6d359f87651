package cutover

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// underLock is the part of an attempt that a rehearsal has too: the lock, the work under it, and its
// release. It can rename nothing.
type underLock struct {
	pool   *dbconn.Pool
	tables Tables
	budget Budget
	drain  Drain

	holder  *dbconn.Session
	readers [2]*sql.Conn // for check
	trip    time.Duration
	granted time.Time
	report  Report
}

// Rehearse is Attempt without the swap: it asks for the lock once, does the work under it, and
// releases it. It returns the errors that Attempt returns before the RENAME: the source is
// untouched, no lock is left, and another attempt may be made.
func Rehearse(ctx context.Context, pool *dbconn.Pool, tables Tables, budget Budget, setup []string, drain Drain) (Report, error) {
	h := &underLock{pool: pool, tables: tables, budget: budget, drain: drain}
	defer h.close()
	if err := h.open(ctx, setup); err != nil {
		return h.report, err
	}
	if err := h.lock(ctx, tables.locked()...); err != nil {
		return h.report, err
	}
	err := h.drainAll(ctx)
	h.release()
	h.report.Held = time.Since(h.granted)
	return h.report, err
}

// open opens the connections of the attempt: under the lock, opening one would take ten round trips.
func (h *underLock) open(ctx context.Context, setup []string) (err error) {
	if h.holder, err = h.pool.Session(ctx, append(setup, h.shortLived())...); err == nil {
		err = h.openReaders(ctx)
	}
	if err != nil {
		return fmt.Errorf("open the sessions of the swap: %w", err)
	}
	return h.measureDistance(ctx)
}

func (h *underLock) close() {
	h.closeReaders()
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
	h.report.Waited = requested.Waited
	if err == nil && !requested.Granted {
		err = ErrNotGranted
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", h.tables.Source, err)
	}
	h.granted, h.report.Granted = time.Now(), true
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

// drainAll brings the shadow up to the last change of the source. At the same time other connections
// check that the source is still the plan's: the lock holds for them as well.
func (h *underLock) drainAll(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, h.budget.Work, ErrOverrun)
	defer cancel()
	found := h.check(bounded)
	err := h.applyLast(bounded)
	if err != nil {
		cancel()
	}
	counters, differs := found()
	if err == nil {
		err = differs
	}
	if err == nil {
		err = h.carryCounter(bounded, counters)
	}
	return h.explain(err)
}

// applyLast receives and applies the last changes.
func (h *underLock) applyLast(ctx context.Context) error {
	if err := h.drain.Received(ctx); err != nil {
		return fmt.Errorf("receive the last changes of %s: %w", h.tables.Source, err)
	}
	drained, left, err := h.drain.ApplyAndProve(ctx, h.holder)
	h.report.Drained = drained
	if err != nil {
		return fmt.Errorf("apply the last changes of %s: %w", h.tables.Source, err)
	}
	if left > 0 {
		return fmt.Errorf("apply the last changes of %s: %d left: %w", h.tables.Source, left, ErrNotDrained)
	}
	return nil
}

// carryCounter gives the shadow at least the source's AUTO_INCREMENT counter. REQUIRES: the last changes are
// applied; they may have raised the shadow's counter since it was read.
func (h *underLock) carryCounter(ctx context.Context, read counters) error {
	if read.shadow < read.source && h.report.Drained > 0 {
		shadow, err := showCreate(ctx, h.pool.DB(), h.tables.Shadow)
		if err != nil {
			return becauseOf(ctx, err)
		}
		_, read.shadow = schema.SplitAutoIncrement(shadow)
	}
	if read.shadow >= read.source {
		return nil
	}
	if h.tables.Raise != nil {
		return h.raise(ctx, read.source-1)
	}
	_, err := h.holder.Exec(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", h.tables.Shadow.Quoted(), read.source))
	if err != nil {
		return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", h.tables.Source, err)
	}
	return nil
}

// raise writes a row with the number, without strict mode, and rolls it back. InnoDB's counter stays:
// after a duplicate of another unique key, too, because the statement is an INSERT .. SELECT.
// REQUIRES: autocommit is off.
func (h *underLock) raise(ctx context.Context, number uint64) error {
	if _, err := h.holder.Exec(ctx, "SET @midstream_mode = @@SESSION.sql_mode, SESSION sql_mode = ''"); err != nil {
		return err
	}
	for _, statement := range h.tables.Raise(number) {
		done, err := h.holder.Exec(ctx, statement)
		if _, failed := h.holder.Exec(ctx, "ROLLBACK"); failed != nil {
			return failed
		}
		if dbconn.Duplicate(err) {
			break
		}
		if err != nil && !dbconn.ValueRefused(err) && !dbconn.NoDefault(err) {
			return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", h.tables.Source, err)
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
