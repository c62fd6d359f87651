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

func (h *underLock) open(ctx context.Context, setup []string) (err error) {
	if h.holder, err = h.pool.Session(ctx, append(setup, h.shortLived())...); err != nil {
		return fmt.Errorf("open the session of the swap: %w", err)
	}
	return nil
}

func (h *underLock) close() {
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

// drainAll brings the shadow up to the last change of the source.
func (h *underLock) drainAll(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, h.budget.Work, ErrOverrun)
	defer cancel()
	if err := h.drain.Received(bounded); err != nil {
		return fmt.Errorf("receive the last changes of %s: %w", h.tables.Source, err)
	}
	drained, left, err := h.drain.ApplyAndProve(bounded, h.holder)
	h.report.Drained = drained
	if err != nil {
		return fmt.Errorf("apply the last changes of %s: %w", h.tables.Source, err)
	}
	if left > 0 {
		return fmt.Errorf("apply the last changes of %s: %d left: %w", h.tables.Source, left, ErrNotDrained)
	}
	return h.lastWork(bounded)
}

// lastWork is what an attempt does last under the lock: it checks that the source is still the plan's and carries its counter over.
func (h *underLock) lastWork(ctx context.Context) error {
	source, err := h.showCreate(ctx, h.tables.Source)
	if err != nil {
		return err
	}
	if definition, _ := schema.SplitAutoIncrement(source); !schema.SameDefinition(definition, h.tables.Definition) {
		return fmt.Errorf("%s: %w", h.tables.Source, ErrSourceChanged)
	}
	if err := h.checkRelated(ctx); err != nil {
		return err
	}
	if !h.tables.AutoIncrement {
		return nil
	}
	shadow, err := h.showCreate(ctx, h.tables.Shadow)
	if err != nil {
		return err
	}
	_, next := schema.SplitAutoIncrement(source)
	if _, has := schema.SplitAutoIncrement(shadow); has >= next {
		return nil
	}
	_, err = h.holder.Exec(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", h.tables.Shadow.Quoted(), next))
	if err != nil {
		return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", h.tables.Source, err)
	}
	return nil
}

// inUTC calls read in UTC and without padded texts, because the plan has read definitions so. The
// server shows the default of a TIMESTAMP in the session's zone, and the default of a CHAR in its
// full length in the other sql_mode. The values of rows are computed in the server's settings.
func (h *underLock) inUTC(ctx context.Context, read func() error) error {
	if _, err := h.holder.Exec(
		ctx,
		"SET @midstream_zone = @@SESSION.time_zone, @midstream_mode = @@SESSION.sql_mode, SESSION time_zone = '+00:00',"+
			" SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
	); err != nil {
		return err
	}
	err := read()
	if _, back := h.holder.Exec(ctx, "SET SESSION time_zone = @midstream_zone, SESSION sql_mode = @midstream_mode"); err == nil {
		err = back
	}
	return err
}

func (h *underLock) showCreate(ctx context.Context, table schema.Name) (string, error) {
	var name, text string
	read := func() error {
		return h.holder.Rows(ctx, "SHOW CREATE TABLE "+table.Quoted(), func(rows *sql.Rows) error {
			return rows.Scan(&name, &text)
		})
	}
	if err := h.inUTC(ctx, read); err != nil {
		return "", fmt.Errorf("read the definition of %s: %w", table, err)
	}
	return text, nil
}
