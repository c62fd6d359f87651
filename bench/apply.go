package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	orderSequential = "sequential"
	orderScattered  = "scattered"

	writers        = 4
	rowsPerWrite   = 1000
	drainPatience  = 10 * time.Minute
	heldPatience   = 40 * time.Second // a held sync gives up after a while
	progressWindow = 600 * time.Millisecond
)

// apply measures how fast changes are applied. An idle transaction blocks the cut-over after the
// row copy, because the run waits for it. Writers change every row once, as fast as they can, and
// the run applies the resulting backlog.
func (b *bench) apply(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, order := range rotate([]string{orderSequential, orderScattered}, round) {
			r, err := b.applyRun(ctx, order, false, change)
			if err != nil {
				return fmt.Errorf("apply, %s: %w", order, err)
			}
			r.Round = round
			f.Apply = append(f.Apply, r)
			b.say("round %d  apply %-10s %6.0f rows/s (%.0f during the writer, %.0f after), the writer %.0f rows/s %s",
				round+1, order, r.AppliedPerS, r.WhileWriting, r.AfterWriting, r.WriterRowsPerS, r.Error)
			if err := b.results.save(measureApply, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory measures the client with every row of the table in its backlog: a transaction that holds
// the shadow's rows prevents apply from working until then.
func (b *bench) memory(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	r, err := b.applyRun(ctx, orderScattered, true, change)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	f.Apply = append(f.Apply, r)
	b.say("memory: %.1f MB with a backlog of %d keys %s", float64(r.ClientRSS)/1e6, r.PeakBacklogKeys, r.Error)
	return b.results.save(measureMemory, f)
}

// watcher follows the events of a run.
type watcher struct {
	mu      sync.Mutex
	events  []midstreamEvent // progress only
	shadow  string
	copying chan struct{} // closed when the row copy begins
	// waiting is closed when only blocking sessions keep the run from the cut-over.
	waiting chan struct{}
	once    [2]sync.Once
}

func (w *watcher) see(e midstreamEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Event == "plan":
		w.shadow = e.Shadow
	case e.Event == "phase" && e.Phase == "copy":
		w.once[0].Do(func() { close(w.copying) })
	case e.Event == "blocked":
		w.once[1].Do(func() { close(w.waiting) })
	case e.Event == "progress":
		w.events = append(w.events, e)
	}
}

func (w *watcher) last() (e midstreamEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.events); n > 0 {
		e = w.events[n-1]
	}
	return e
}

// applyRun does one run of a change, with more arguments. err is the bench's own error; the tool's error is in the ApplyRun.
func (b *bench) applyRun(ctx context.Context, order string, held bool, change string, extra ...string) (r ApplyRun, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = ApplyRun{Order: order, Held: held, Rows: b.base.rows}

	w := &watcher{copying: make(chan struct{}), waiting: make(chan struct{})}
	limited, cancel := context.WithTimeout(ctx, b.limit+drainPatience)
	defer cancel()
	meter := startMeter(s, nil)
	done := make(chan usage, 1)
	go func() {
		done <- midstreamChange(b.midstream, append(b.unverified(), extra...), change, w.see)(limited, s)
	}()

	ended, changes := false, written{}
	var u usage
	wait := func(reached <-chan struct{}) bool {
		select {
		case <-reached:
			return true
		case u = <-done:
			ended = true
			return false
		}
	}
	if wait(w.copying) {
		blocker, blockErr := hold(ctx, s, "SELECT id FROM "+table+" LIMIT 1")
		if blockErr != nil {
			err = blockErr
		} else if wait(w.waiting) {
			changes, err = b.changeAll(ctx, s, w, order, held)
			blocker.release()
		} else {
			blocker.release()
		}
	}
	if err != nil {
		cancel()
	}
	if !ended {
		u = <-done
	}
	if err != nil {
		return r, err
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	r.ClientRSS, r.ClientCPUS = u.rss, u.cpu.Seconds()
	server := cpuOf(meter.pid) - meter.server
	r.ServerCPUS, r.ForeignCPU = server.Seconds(), meter.foreign(server+u.cpu)
	if u.err != nil {
		r.Error = u.err.Error()
	}
	r.rate(w.events, changes)
	return r, nil
}

// written is the time in which the writers wrote.
type written struct{ from, to time.Time }

// changeAll changes every row of the table once. It returns when all changes are applied, if the
// run reports that in time.
func (b *bench) changeAll(ctx context.Context, s *server, w *watcher, order string, held bool) (written, error) {
	before := w.last()
	var keep holder
	if held {
		var err error
		// NB: in one table only, which only apply writes.
		if keep, err = hold(ctx, s, "SELECT COUNT(*) FROM "+quoted(w.shadow)+" FOR UPDATE"); err != nil {
			return written{}, err
		}
	}
	changes := written{from: time.Now()}
	err := writeAll(ctx, s, b.base.rows, order)
	changes.to = time.Now()
	if err != nil {
		keep.release()
		return changes, err
	}
	captured := func(e midstreamEvent) bool { return e.Captured-before.Captured >= int64(b.base.rows) }
	if held {
		err = w.await(ctx, heldPatience, captured)
		keep.release()
	}
	if err == nil {
		err = w.await(ctx, drainPatience, func(e midstreamEvent) bool { return captured(e) && e.Backlog == 0 })
	}
	return changes, err
}

// await returns when the last progress satisfies wanted, or after the patience.
func (w *watcher) await(ctx context.Context, patience time.Duration, wanted func(midstreamEvent) bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		e := w.last()
		if wanted(e) || time.Since(e.seen) > 10*time.Second { // the run has ended
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// holder is an open transaction.
type holder struct{ conn *sql.Conn }

// hold begins a transaction with a statement and leaves it open.
func hold(ctx context.Context, s *server, statement string) (holder, error) {
	conn, err := s.sql.Conn(ctx)
	if err != nil {
		return holder{}, fmt.Errorf("hold a lock: %w", err)
	}
	// READ COMMITTED keeps no snapshot; the swap would wait for a snapshot too.
	for _, step := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", statement} {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			conn.Close()
			return holder{}, fmt.Errorf("hold a lock: %s: %w", step, err)
		}
	}
	return holder{conn}, nil
}

func (h holder) release() {
	if h.conn != nil {
		_, _ = h.conn.ExecContext(context.Background(), "ROLLBACK") // a dead session holds nothing either
		h.conn.Close()
	}
}

// quoted quotes database.table.
func quoted(name string) string {
	schema, table, ok := strings.Cut(name, ".")
	if !ok {
		schema, table = database, name
	}
	quote := func(s string) string { return "`" + strings.ReplaceAll(strings.Trim(s, "`"), "`", "``") + "`" }
	return quote(schema) + "." + quote(table)
}

// writeAll changes every row once, in transactions of rowsPerWrite rows.
func writeAll(ctx context.Context, s *server, rows int, order string) error {
	stride := 1
	if order == orderScattered {
		stride = coprime(rows)
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range writers {
		group.Go(func() error {
			for {
				from := int(next.Add(rowsPerWrite)) - rowsPerWrite
				if from >= rows {
					return nil
				}
				to := min(from+rowsPerWrite, rows)
				where := fmt.Sprintf("id BETWEEN %d AND %d", from+1, to)
				if stride != 1 {
					ids := make([]string, 0, rowsPerWrite)
					for i := from; i < to; i++ {
						ids = append(ids, fmt.Sprint(1+i*stride%rows))
					}
					where = "id IN (" + strings.Join(ids, ",") + ")"
				}
				if err := s.exec(ctx, "UPDATE "+table+" SET c = REVERSE(c) WHERE "+where); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// coprime returns a stride that visits each of n numbers once, far from the last one.
func coprime(n int) int {
	stride := max(1, int(float64(n)*0.6180339887))
	for gcd(stride, n) != 1 {
		stride++
	}
	return stride
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rate computes the rates from the run's progress.
func (r *ApplyRun) rate(events []midstreamEvent, changes written) {
	if changes.to.IsZero() {
		return
	}
	r.WriterRowsPerS = ratio(float64(r.Rows), changes.to.Sub(changes.from).Seconds())
	var busy []midstreamEvent
	var start, end midstreamEvent // the events around all of them
	for _, e := range events {
		r.PeakBacklogKeys = max(r.PeakBacklogKeys, e.Backlog)
		switch {
		case e.seen.Before(changes.from):
			start = e
		case e.Backlog > 0:
			busy = append(busy, e)
		case end.Event == "" && e.Captured-start.Captured >= int64(r.Rows):
			end = e
		}
	}
	r.AppliedPerS = appliedRate(busy)
	var during, after []midstreamEvent
	for _, e := range busy {
		if e.seen.Before(changes.to) {
			during = append(during, e)
		} else {
			after = append(after, e)
		}
	}
	r.WhileWriting, r.AfterWriting = appliedRate(during), appliedRate(after)
	if end.Event != "" {
		r.OverallPerS = ratio(float64(end.Applied-start.Applied), end.seen.Sub(changes.from).Seconds())
	}
}

// appliedRate is the rate between the first and the last event, in keys per second; 0 if they are
// too close.
func appliedRate(events []midstreamEvent) float64 {
	if len(events) < 2 {
		return 0
	}
	first, last := events[0], events[len(events)-1]
	if took := last.seen.Sub(first.seen); took >= progressWindow {
		return float64(last.Applied-first.Applied) / took.Seconds()
	}
	return 0
}
