package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// States of a table that is to reach its definition.
const (
	StateEqual     = "equal"
	StatePlanned   = "planned"
	StateChecked   = "checked"
	StateRehearsed = "rehearsed"
	StateChanged   = "changed"
	StateCreated   = "created"
	StateFailed    = "failed"
	StateWaiting   = "waiting"
	// StateLater is the state of a statement that is planned or checked when an earlier one is done.
	StateLater = "later"
)

// EndOf is the state that a table ends with by a verb. rehearses means that a run is only rehearsed.
func EndOf(verb string, rehearses bool) string {
	switch {
	case verb == "plan":
		return StatePlanned
	case verb == "check":
		return StateChecked
	case rehearses:
		return StateRehearsed
	}
	return StateChanged
}

// Works reports whether a run works on each table up to this state: it changes the table, or is rehearsed.
func Works(end string) bool { return end == StateChanged || end == StateRehearsed }

// Reach is what brings tables to the definitions that files want.
type Reach struct {
	Server *Server
	Wanted []desired.Statement
	// LeftOut are statements of the files that define no table.
	LeftOut []string
	// Part says that Wanted is a part of what the files define.
	Part bool
	Says desired.Says
	// End is the state that a table ends with, as of EndOf.
	End string

	// Finish brings an earlier run on a table to its end.
	Finish func(context.Context, schema.Name) error
	// Make makes the plan of a change that has an ALTER.
	Make func(context.Context, *desired.Change) error
	// Do does with such a change what leads to End.
	Do func(context.Context, *desired.Change) (migration.Result, error)
	// MakeTables makes the plan of a CREATE TABLE, and Create carries it out.
	MakeTables func(context.Context, *ddl.Statement) (*plan.TablePlan, error)
	Create     func(context.Context, *desired.Change, *plan.TablePlan) (migration.Result, error)
	// Together are the changes that are swapped in one step, and Member makes the one at an index; nil if one change follows the other.
	Together *Together
	Member   func(ctx context.Context, i int) (migration.Result, error)
	// Planned shows the plan of a change that has no ALTER.
	Planned func(c *desired.Change, method, why string)
	// Begins is called with the table that is next.
	Begins func(table string)
	Note   func(text string)

	// Tables are what has become of each table.
	Tables  []record.Table
	finder  desired.Finder
	changes []*desired.Change
	sum     migration.Result
}

// Partly is the end of a run on several tables at one of them.
type Partly struct {
	Err        error
	Table      string
	Done, Rest []string
}

func (p *Partly) Error() string { return p.Err.Error() }
func (p *Partly) Unwrap() error { return p.Err }

// runs reports whether tables are changed.
func (r *Reach) runs() bool { return r.End == StateChanged }

// grouped reports whether several tables are swapped in one step.
func (r *Reach) grouped() bool { return r.Together != nil && len(r.Together.Names) > 1 }

// Run looks at all tables first, so that what can be refused is refused before anything is
// begun; then it works on one after the other. Its error is one of the functions, a *plan.Refused,
// an *Error, or a *Partly around one of these.
func (r *Reach) Run(ctx context.Context) (migration.Result, error) {
	r.finder = desired.Finder{
		Pool:     r.Server.Pool,
		Map:      func(name schema.Name) map[string]string { return r.Says[name] },
		Argument: func(table schema.Name, old, fresh string) string { return desired.MapFlag(r.Wanted, table, old, fresh) },
	}
	if err := r.finder.Sweep(ctx, r.Wanted, desired.Stale); err != nil {
		return r.sum, unread(err)
	}
	if r.runs() {
		for _, w := range r.Wanted { // what an earlier run has left to do
			if err := r.Finish(ctx, w.Name); err != nil {
				return r.sum, err
			}
		}
	}
	if err := r.look(ctx); err != nil {
		return r.sum, err
	}
	if n := len(r.LeftOut); n > 0 {
		shown := strings.Join(r.LeftOut[:min(n, 3)], "; ")
		r.Note(fmt.Sprintf("left out, because only tables are changed: %d of the files' statements (%s%s)", n, shown, map[bool]string{true: "; ..."}[n > 3]))
	}
	if err := r.leaveAlone(ctx); err != nil {
		return r.sum, err
	}
	if r.Together != nil {
		r.Together.take(r.changes)
		if err := r.Together.agree(ctx, r.Server, r.changes); err != nil {
			return r.sum, err
		}
	}
	if Works(r.End) {
		if err := r.planAll(ctx); err != nil {
			return r.sum, err
		}
	}
	if r.grouped() || r.Together != nil && r.runs() {
		return r.sum, r.together(ctx)
	}
	err := r.all(ctx)
	return r.sum, err
}

// together swaps all changes of existing tables in one step. New tables are there before it, but for those that refer to a table which
// it changes. Only the swap is held, or the first new table if there is no swap.
func (r *Reach) together(ctx context.Context) error {
	var after []int
	swapped := -1
	for i, c := range r.changes {
		switch {
		case c.Alter != nil:
			swapped = i
		case c.RefersTo(r.Together.Names):
			after = append(after, i)
		default:
			if err := r.oneOf(ctx, i); err != nil {
				return err
			}
		}
	}
	var err error
	if r.grouped() {
		err = r.swap(ctx)
	} else if swapped >= 0 { // as without the others
		err = r.oneOf(ctx, swapped)
	}
	for _, i := range after {
		if err == nil {
			err = r.oneOf(ctx, i)
		}
	}
	return err
}

// swap changes the tables of a group.
func (r *Reach) swap(ctx context.Context) error {
	result, err := r.Together.Run(ctx, r.Member)
	r.add(result)
	for _, t := range r.Together.Tables {
		at := slices.IndexFunc(r.Tables, func(of record.Table) bool { return of.Table == t.Table })
		t.Place = r.Tables[at].Place
		r.Tables[at] = t
	}
	return err
}

// unheld reports whether a new table belongs to a swap, or to another new table, that is held.
func (r *Reach) unheld() bool {
	return r.Together != nil && (len(r.Together.Names) > 0 ||
		slices.ContainsFunc(r.Tables, func(t record.Table) bool { return t.State == StateCreated }))
}

// oneOf works on one table.
func (r *Reach) oneOf(ctx context.Context, i int) error {
	state, err := r.one(ctx, i)
	if r.Tables[i].State = state; err != nil {
		return r.partly(i, err)
	}
	return nil
}

// look finds all changes, or all reasons why there are none.
func (r *Reach) look(ctx context.Context) error {
	var refusals []*plan.Refused
	for _, s := range r.Wanted {
		change, err := r.find(ctx, s)
		var refused *plan.Refused
		switch {
		case errors.As(err, &refused):
			refusals = append(refusals, refused)
		case err != nil:
			return err
		default:
			r.changes = append(r.changes, change)
		}
	}
	for i, c := range r.changes {
		for _, other := range r.changes[:i] {
			if c.Table != nil && other.Table != nil && c.Table.Name == other.Table.Name {
				refusals = append(refusals, &plan.Refused{Table: c.Table.Name.String(), Blocking: []plan.Risk{{Code: desired.CodeFile,
					What: fmt.Sprintf("%s and %s define the same table", other.Statement.Place(), c.Statement.Place()), Blocking: true}}})
			}
		}
	}
	if err := Refusals(refusals); err != nil {
		return err
	}
	r.changes = desired.Order(r.changes)
	for _, c := range r.changes {
		for _, note := range c.Notes {
			r.Note(note)
		}
		r.Tables = append(r.Tables, record.Table{Table: c.Name().Dotted(), Place: c.Statement.Place(), State: StateWaiting})
	}
	return nil
}

// find compares one table.
func (r *Reach) find(ctx context.Context, s desired.Statement) (*desired.Change, error) {
	change, err := r.finder.Find(ctx, s)
	var refused *plan.Refused
	var left *desired.Left
	switch {
	case errors.As(err, &left):
		return nil, &Error{
			Outcome: Unremoved,
			Err:     err,
			Left:    left.Name.String() + " may remain, an empty table",
			Next:    "DROP TABLE IF EXISTS " + left.Name.Quoted(),
		}
	case errors.As(err, &refused):
		return nil, refused
	case err != nil:
		return nil, unread(fmt.Errorf("compare %s with %s: %w", s.Name, s.Place(), err))
	}
	return change, nil
}

// Refusals makes one refusal of those of several tables.
func Refusals(refusals []*plan.Refused) error {
	switch len(refusals) {
	case 0:
		return nil
	case 1:
		return refusals[0]
	}
	all := &plan.Refused{}
	var tables []string
	of := func(table string, risks []plan.Risk) (named []plan.Risk) {
		for _, risk := range risks {
			risk.What = table + ": " + risk.What
			named = append(named, risk)
		}
		return named
	}
	for _, r := range refusals {
		tables = append(tables, r.Table)
		all.Blocking = append(all.Blocking, of(r.Table, r.Blocking)...)
		all.Others = append(all.Others, of(r.Table, r.Others)...)
	}
	all.Table = strings.Join(tables, ", ")
	return all
}

// leaveAlone lists the tables that the files don't have.
func (r *Reach) leaveAlone(ctx context.Context) error {
	if r.Part {
		return nil
	}
	left, err := r.finder.Left(ctx, r.Wanted)
	if err != nil {
		return unread(err)
	}
	if len(left) > 0 {
		r.Note("not in the files, and unchanged: " + schema.List(left))
	}
	return nil
}

// planAll makes every plan once, for the sake of what it refuses.
func (r *Reach) planAll(ctx context.Context) error {
	var refusals []*plan.Refused
	var alters []*desired.Change
	for _, c := range r.changes {
		if c.Alter != nil {
			alters = append(alters, c)
		}
	}
	if len(alters) == 1 && len(r.changes) == 1 { // its run makes it
		return nil
	}
	for _, c := range alters {
		var refused *plan.Refused
		if err := r.Make(ctx, c); errors.As(err, &refused) {
			refusals = append(refusals, refused)
		} else if err != nil {
			return err
		}
	}
	return Refusals(refusals)
}

// all works on one table after the other. A run stops at the first that fails; a plan reports
// what it refuses of all.
func (r *Reach) all(ctx context.Context) error {
	var refusals []*plan.Refused
	for i := range r.changes {
		err := r.oneOf(ctx, i)
		var refused *plan.Refused
		if r.End == StatePlanned && errors.As(err, &refused) {
			refusals = append(refusals, refused)
			continue
		}
		if err != nil {
			return err
		}
	}
	return Refusals(refusals)
}

// partly says which tables are done, and which are not begun.
func (r *Reach) partly(at int, err error) error {
	if len(r.Tables) == 1 || !Works(r.End) {
		return err
	}
	p := &Partly{Err: err, Table: r.Tables[at].Table}
	for i, t := range r.Tables {
		switch {
		case i == at:
		case t.State == StateWaiting:
			p.Rest = append(p.Rest, t.Table)
		default:
			p.Done = append(p.Done, t.Table)
		}
	}
	return p
}

// one works on one table.
func (r *Reach) one(ctx context.Context, i int) (state string, err error) {
	if ctx.Err() != nil {
		return StateWaiting, unread(context.Cause(ctx))
	}
	began := time.Now()
	r.Begins(r.Tables[i].Table)
	c := r.changes[i]
	if i > 0 && Works(r.End) && !r.grouped() { // time has gone by
		if c, err = r.find(ctx, c.Statement); err != nil {
			return StateFailed, err
		}
		r.changes[i] = c
	}
	switch {
	case c.Table == nil:
		return r.create(ctx, c)
	case c.Alter == nil:
		r.Planned(c, "none", "the table already has this definition")
		r.sum.Swapped = r.runs()
		return StateEqual, nil
	}
	result, err := r.Do(ctx, c)
	r.add(result)
	fill(&r.Tables[i], result)
	r.Tables[i].Elapsed = record.MSOf(time.Since(began))
	if err != nil {
		return StateFailed, err
	}
	return r.End, nil
}

// create makes a table that does not exist; a plan shows so.
func (r *Reach) create(ctx context.Context, c *desired.Change) (state string, err error) {
	r.Planned(c, "create", "there is no such table")
	if r.End == StateRehearsed { // a run would create it
		return StatePlanned, nil
	}
	if !r.runs() {
		return r.End, nil
	}
	statement, err := ddl.ParseStatement(c.Statement.Text)
	if err == nil {
		err = statement.In(c.Statement.Name.Schema)
	}
	if err != nil {
		return StateFailed, unread(fmt.Errorf("%s: %w", c.Statement.Place(), err))
	}
	p, err := r.MakeTables(ctx, statement)
	if err != nil {
		return StateFailed, err
	}
	p.Unheld = r.unheld()
	result, err := r.Create(ctx, c, p)
	r.add(result)
	if err != nil {
		return StateFailed, err
	}
	return StateCreated, nil
}

// fill takes the figures of a table's run.
func fill(t *record.Table, r migration.Result) {
	t.Method, t.Old, t.Shadow, t.Elapsed = string(r.Method), r.Old, r.Rehearsed.Shadow, record.MSOf(r.Elapsed)
	t.RowsCopied, t.Verified, t.LeftOut = r.RowsCopied, r.Verified, r.LeftOut
	t.CopyMS, t.IndexMS, t.VerifyMS, t.DrainedKeys = record.MSOf(r.Copy), record.MSOf(r.Index), record.MSOf(r.Verify), r.Drained
}

// add sums up what runs did; of what is no number the last counts.
func (r *Reach) add(x migration.Result) { Add(&r.sum, x) }

// Add adds the result of one run to the sum of several.
func Add(s *migration.Result, x migration.Result) {
	s.Elapsed, s.Prescan, s.Scanned = s.Elapsed+x.Elapsed, s.Prescan+x.Prescan, s.Scanned+x.Scanned
	s.Copy, s.Index, s.Verify, s.Native = s.Copy+x.Copy, s.Index+x.Index, s.Verify+x.Verify, s.Native+x.Native
	s.RowsCopied, s.Captured = s.RowsCopied+x.RowsCopied, s.Captured+x.Captured
	s.Applied, s.Dropped = s.Applied+x.Applied, s.Dropped+x.Dropped
	s.Merged, s.Retries, s.Attempts, s.LockHeld = s.Merged+x.Merged, s.Retries+x.Retries, s.Attempts+x.Attempts, s.LockHeld+x.LockHeld
	s.Drained, s.BinlogRead = s.Drained+x.Drained, s.BinlogRead+x.BinlogRead
	s.Verified, s.Repaired, s.LeftOut = s.Verified+x.Verified, s.Repaired+x.Repaired, s.LeftOut+x.LeftOut
	s.Disk, s.Redo, s.Binlog = max(s.Disk, x.Disk), s.Redo+x.Redo, s.Binlog+x.Binlog // one after the other
	addRehearsed(&s.Rehearsed, x.Rehearsed)
	s.Method, s.Old, s.Compared, s.Swapped, s.Resumed = x.Method, x.Old, x.Compared, x.Swapped, s.Resumed || x.Resumed
}

// addRehearsed adds what a rehearsal has reported in addition.
func addRehearsed(s *migration.Rehearsed, x migration.Rehearsed) {
	s.CaptureDelay, s.LockWaited = max(s.CaptureDelay, x.CaptureDelay), max(s.LockWaited, x.LockWaited)
	s.Blockers, s.Blocked, s.ShadowBytes = s.Blockers+x.Blockers, max(s.Blocked, x.Blocked), s.ShadowBytes+x.ShadowBytes
	s.Shadow = joined(s.Shadow, x.Shadow)
	s.Replication.Before, s.Replication.Lag = max(s.Replication.Before, x.Replication.Before), max(s.Replication.Lag, x.Replication.Lag)
	s.Replication.Stall = max(s.Replication.Stall, x.Replication.Stall)
	s.Replication.Stopped = s.Replication.Stopped || x.Replication.Stopped
}

// joined are two names, of which either may be missing.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// Different counts the tables that are not equal to their files.
func Different(tables []record.Table) (n int) {
	for _, t := range tables {
		if t.State != StateEqual {
			n++
		}
	}
	return n
}
