package soak

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Stage is how far a drop has come.
type Stage int

// The stages.
const (
	None    Stage = iota // no first act was made, or it was taken back
	Begun                // a run makes the first act now, or was killed while it did
	Soaking              // the first act was made
	Dropped              // the table has nothing left of what is dropped, and the record of the first act still exists
)

// Standing is what the server has of a drop.
type Standing struct {
	Stage  Stage
	Record checkpoint.Undo // of the first act; zero for None
	Seen   checkpoint.Watched
	// Back means that the first act was taken back.
	Back bool
}

// ErrOther means that the table has another record than that of this drop, or was altered since its first act.
type ErrOther struct{ Why, Next string }

func (e *ErrOther) Error() string { return e.Why }

// Look reads how far a drop has come. It fails with *ErrOther.
func Look(ctx context.Context, pool *dbconn.Pool, d Drop) (Standing, error) {
	var s Standing
	table, err := schema.Load(ctx, pool.DB(), d.Table)
	if err != nil {
		return s, err
	}
	d.Table = table.Name
	saved, err := leftovers.New(pool, d.Table, plan.Altering).Undo(ctx)
	if err != nil || saved == nil || saved.Undo == nil {
		return s, err
	}
	record := saved.Undo
	if record.Soak == nil && record.Earlier != nil { // the second act has begun
		record = record.Earlier
	}
	if record.Soak == nil {
		return s, nil
	}
	s.Record = *record
	end := "midstream undo  --end " + d.Table.Argument() + " gives the soak up; then the same command begins again"
	if s.Record.Back && !sameDrop(*s.Record.Soak, d) {
		return Standing{}, nil // another one that was taken back, and may be redone
	}
	if s.Record.Soak.Clauses != d.Clauses && !sameDrop(*s.Record.Soak, d) {
		return s, &ErrOther{fmt.Sprintf("%s soaks for another change: %s", d.Table, s.Record.Soak.Clauses), "midstream undo  " + d.Table.Argument() + " takes its first act back"}
	}
	if saved.Watched != nil && saved.Watched.Since.Equal(s.Record.Swapped) {
		s.Seen = *saved.Watched
	}
	settled, why := leftovers.Settled(s.Record, table)
	switch {
	case d.Gone(table):
		s.Stage = Dropped
	case s.Record.Native.Step == checkpoint.Doing:
		s.Stage = Begun
	case why == "" && settled.Back:
		s.Back = true
	case why != "":
		return s, &ErrOther{why + ", and nothing was dropped", end}
	default:
		s.Stage = Soaking
	}
	return s, nil
}

// sameDrop reports whether a soak drops the same.
func sameDrop(s checkpoint.Soak, d Drop) bool {
	same := func(a, b []string) bool { return slices.EqualFunc(a, b, strings.EqualFold) }
	return same(s.Columns, d.Columns) && same(s.Indexes, d.Indexes)
}

// Watcher checks between the two acts of a drop. It is for one goroutine.
type Watcher struct {
	Pool  *dbconn.Pool
	Drop  Drop
	Begun checkpoint.Undo    // the record of the first act
	Seen  checkpoint.Watched // what was seen
	// executed is how often prepared statements were executed at the last check; nil before one.
	executed map[string]int64
}

// apart is how far two readings of the server's start may differ.
const apart = 2

// mostNamed bounds the statements that are kept.
const mostNamed = 20

// Check reads which statements have named what is dropped since the last check. fresh are those that none has seen before.
func (w *Watcher) Check(ctx context.Context) (fresh []checkpoint.NamedBy, err error) {
	if fresh, err = w.check(ctx); err == nil {
		err = w.Save(ctx)
	}
	return fresh, err
}

func (w *Watcher) check(ctx context.Context) (fresh []checkpoint.NamedBy, err error) {
	db := w.Pool.DB()
	now, err := readStatistics(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read the server's statistics: %w", err)
	}
	since, seen := w.Begun.Swapped, &w.Seen
	if !seen.Since.Equal(since) {
		*seen = checkpoint.Watched{Since: since, Checked: since}
	}
	again := seen.Server != "" && (seen.Server != now.server || now.started > seen.Started+apart)
	if again || seen.Server != "" && now.statements < seen.Statements { // a restart, another server, or TRUNCATE
		until := now.now
		if again && seen.Server == now.server {
			until = time.Unix(now.started, 0)
		}
		seen.Unseen += max(until.Sub(seen.Checked), 0)
		w.Begun.Soak.Failed, w.executed = nil, nil
	}
	if now.whole {
		since = since.Truncate(time.Second)
	}
	if blind, err := Blind(ctx, db); err != nil {
		return nil, err
	} else if blind != "" {
		seen.Unseen += max(now.now.Sub(seen.Checked), 0)
	}
	all, err := w.Drop.read(ctx, db, since, now.limit)
	if err != nil {
		return nil, err
	}
	seen.Cut = 0
	for _, s := range all {
		s.errors -= w.Begun.Soak.Failed[s.Digest]
		how, cut := w.Drop.names(s, now.limit)
		if cut {
			seen.Cut++
		}
		if s.How = how; how != "" {
			fresh = w.add(ctx, db, s.NamedBy, fresh)
		}
	}
	if fresh, err = w.executions(ctx, db, now.now, fresh); err != nil {
		return nil, err
	}
	seen.Lost = seen.Lost || now.lost.After(since)
	seen.Checked, seen.Server, seen.Statements = now.now, now.server, now.statements
	if seen.Started == 0 || again {
		seen.Started = now.started
	}
	return fresh, nil
}

// WhyNot asks once more, right before the second act changes the table (operator.Asked).
func (w *Watcher) WhyNot(ctx context.Context, _ event.Phase) (string, error) {
	if w.Seen.Released != "" {
		return "", nil
	}
	if _, err := w.check(ctx); err != nil {
		return "the statements of the application cannot be read: " + err.Error(), nil //nolint:nilerr // it asks again
	}
	return w.Why(), nil
}

// Every is the time between two questions.
func (w *Watcher) Every() time.Duration { return time.Second }

// executions adds prepared statements that were executed since the last check.
func (w *Watcher) executions(ctx context.Context, db *sql.DB, now time.Time, fresh []checkpoint.NamedBy) ([]checkpoint.NamedBy, error) {
	all, err := w.Drop.prepared(ctx, db)
	if err != nil {
		return nil, err
	}
	before := w.executed
	w.executed = map[string]int64{}
	for _, s := range all {
		w.executed[s.Digest] = s.Runs
		how, _ := w.Drop.names(s, 0)
		if last, known := before[s.Digest]; how == "" || before == nil || !known && s.Runs == 0 || s.Runs == last {
			continue
		}
		s.How, s.First, s.Last, s.Digest = how+" (a prepared statement)", now, now, "prepared: "+s.Text
		fresh = w.add(ctx, db, s.NamedBy, fresh)
	}
	return fresh, nil
}

// add keeps a statement.
func (w *Watcher) add(ctx context.Context, db *sql.DB, n checkpoint.NamedBy, fresh []checkpoint.NamedBy) []checkpoint.NamedBy {
	at := slices.IndexFunc(w.Seen.Named, func(o checkpoint.NamedBy) bool { return o.Digest == n.Digest && o.Database == n.Database })
	if n.First.Before(w.Seen.Since) {
		n.First = w.Seen.Since // the first time that counts is not known
	}
	switch {
	case at >= 0:
		was := &w.Seen.Named[at]
		was.Runs, was.Last = n.Runs, n.Last
		if was.User == "" {
			was.User = userOf(ctx, db, n.Digest)
		}
		return fresh
	case len(w.Seen.Named) >= mostNamed:
		w.Seen.More++
		return fresh
	}
	if n.User == "" {
		n.User = userOf(ctx, db, n.Digest)
	}
	w.Seen.Named = append(w.Seen.Named, n)
	return append(fresh, n)
}

// Save keeps what was seen on the server.
func (w *Watcher) Save(ctx context.Context) error {
	session, err := w.Pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	name := w.Drop.Table
	return checkpoint.New(plan.UndoOf(name), name, w.Pool.Name(), "").Watch(ctx, session, w.Seen)
}

// Why returns why the drop is held, for people; "" if nothing holds it.
func (w *Watcher) Why() string {
	seen := w.Seen
	switch n := len(seen.Named) + seen.More; {
	case seen.Released != "":
		return ""
	case n == 1:
		return fmt.Sprintf("a statement of %s %s: %s", who(seen.Named[0]), seen.Named[0].How, ddl.Shorten(seen.Named[0].Text))
	case n > 1:
		return fmt.Sprintf("%d statements name what is dropped; the first, of %s, %s: %s", n, who(seen.Named[0]), seen.Named[0].How, ddl.Shorten(seen.Named[0].Text))
	case seen.Unseen > w.Begun.Until.Sub(w.Begun.Swapped)/10:
		return fmt.Sprintf("the server lost its statistics, and statements of %s were not seen", seen.Unseen.Round(time.Second))
	}
	return ""
}

func who(n checkpoint.NamedBy) string {
	if n.User == "" {
		return "an unknown user"
	}
	return n.User
}

// Doubts is what the checks cannot know, for people; "" for nothing.
func (w *Watcher) Doubts() string {
	var all []string
	if w.Seen.Unseen > 0 {
		all = append(all, fmt.Sprintf("statements of %s were not seen: the server lost its statistics", w.Seen.Unseen.Round(time.Second)))
	}
	if w.Seen.Lost {
		all = append(all, "not all statements were seen: the server has no room for more digests (performance_schema_digests_size)")
	}
	if w.Seen.Cut > 0 {
		all = append(all, fmt.Sprintf("%d statements were not read to their end: the server cuts texts (performance_schema_max_digest_length)", w.Seen.Cut))
	}
	return strings.Join(all, "; ")
}
