package wholetables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/tableddl"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Change carries out a statement on complete tables: RENAME, DROP, TRUNCATE or CREATE TABLE.
type Change struct {
	pool    *dbconn.Pool
	plan    *plan.TablePlan
	emit    event.Listener
	control *operator.Control

	undo  checkpoint.Undo // what is written to the undo table, if anything
	merge *merger         // takes rows over, or is nil
	phase event.Phase
	done  bool // the main statement
}

// New returns a change for a plan, that obeys the control.
func New(pool *dbconn.Pool, p *plan.TablePlan, control *operator.Control, emit event.Listener) *Change {
	return &Change{pool: pool, plan: p, emit: emit, control: control}
}

// Look reads what a plan of the statement needs.
func Look(
	ctx context.Context,
	pool *dbconn.Pool,
	statement *ddl.Statement,
	settings operator.Settings,
	emit event.Listener,
) (*plan.StatementFacts, error) {
	found, err := lookAt(ctx, pool, statement, settings, emit)
	if err == nil {
		err = lookForUndos(ctx, pool, statement, found, emit)
	}
	return found, err
}

func lookAt(
	ctx context.Context,
	pool *dbconn.Pool,
	statement *ddl.Statement,
	settings operator.Settings,
	emit event.Listener,
) (*plan.StatementFacts, error) {
	settings = settings.WithDefaults()
	return tableddl.Look(ctx, pool, statement, lock.Terms{Wait: settings.Lock.Wait, Backoff: settings.Backoff}, emit)
}

// Run carries out the plan, and may be called once. The main statement runs under the bounded lock.
// Then Run drops the tables that it has put aside, even if ctx has ended, unless the plan keeps
// them.
//
// The error is a *failure.Failure. It reports what is left on the server.
func (c *Change) Run(ctx context.Context) (migration.Result, error) {
	started := time.Now()
	result, err := c.run(ctx)
	result.Elapsed, result.Swapped = time.Since(started), c.done
	if err != nil {
		return result, c.failure(ctx, err)
	}
	c.enter(event.PhaseDone)
	return result, nil
}

func (c *Change) enter(p event.Phase) {
	c.phase = p
	c.emit(event.PhaseEntered{Phase: p, At: time.Now()})
}

func (c *Change) note(text string) { c.emit(event.Note{Text: text, At: time.Now()}) }

func (c *Change) run(ctx context.Context) (result migration.Result, err error) {
	c.enter(event.PhaseCheck)
	p := c.plan
	result.Method = p.Choice.Method
	if p.Choice.Method == plan.MethodNone {
		c.note("nothing to do: " + p.Choice.Why)
		c.done = true
		if !p.Finish {
			return result, nil
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	release, err := c.claimAll(ctx, fail)
	if err != nil {
		return result, migration.Because(ctx, err)
	}
	defer release()
	if p.Finish {
		if err = c.finish(ctx); err == nil && p.Aside != (schema.Name{}) {
			err = c.end(&result)
		}
		return result, err
	}
	c.control.Attach(c, plan.Altering, &lock.Watcher{DB: c.pool.DB(), Tables: p.Watched})
	defer c.control.Detach(c)
	if p.Unheld {
		operator.Unhold(c.control)
	}
	held := operator.Permission{Control: c.control, Table: p.Subject(), Swaps: true, Next: event.PhaseNative, Enter: c.enter, Note: c.note}
	if _, err := held.Wait(ctx, nil); err != nil {
		return result, migration.Because(ctx, err)
	}
	c.enter(event.PhaseNative)
	if err := c.announce(ctx); err != nil {
		return result, migration.Because(ctx, err)
	}
	if p.Back != nil && p.Back.Kind == ddl.KindTruncate {
		err = swapBack{c, c.merge}.run(ctx, held, &result)
	} else {
		err = c.statement(ctx, held, &result)
	}
	if err != nil {
		if !errors.Is(err, tableddl.ErrUnknown) && !errors.Is(err, cutover.ErrUnknown) {
			c.withdraw(ctx)
		}
		return result, err
	}
	c.done = true
	c.endOthers(ctx, p.EndsUndo)
	c.recomment(ctx, p.Comments)
	c.endPassing(ctx)
	if p.Aside != (schema.Name{}) {
		err = c.end(&result)
	}
	c.record(ctx)
	c.endOwn(ctx)
	if p.Back != nil && p.Back.Kind == ddl.KindDrop {
		c.reportOrphans(ctx)
	}
	return result, err
}

// statement makes the server run the main statement.
func (c *Change) statement(ctx context.Context, held operator.Permission, result *migration.Result) error {
	p, kind := c.plan, c.plan.Statement.Kind
	change := tableddl.Change{
		Table: p.Statement.Tables()[0], Statement: p.Main, Watched: p.Watched, Moves: p.Moves, Gone: p.Gone, Twin: p.Twin,
		Created: kind == ddl.KindCreate, Emptied: kind == ddl.KindTruncate && p.Aside == schema.Name{},
		Long: kind != ddl.KindRename && p.Aside == schema.Name{},
	}
	if p.Back != nil && p.Back.Kind == ddl.KindDrop {
		change.Setup = append(c.pool.Defining(), carry.NoChecks)
	}
	made, err := tableddl.Run(
		ctx, c.pool, change, func() lock.Terms { return c.control.Terms(p.Server) }, operator.Turn{Permission: held, Last: true}, c.emit,
	)
	result.Attempts, result.Native = made.Attempts, made.Took
	if err != nil {
		if !errors.Is(err, tableddl.ErrUnknown) && !errors.Is(err, tableddl.ErrTwinLeft) {
			err = migration.Because(ctx, err)
		}
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// Standing is operator.Run's: a statement has no progress.
func (c *Change) Standing() (p event.Progress, gates []event.Gate, at bool) { return p, nil, false }

// Keeps is operator.Run's: a statement has nothing to keep.
func (c *Change) Keeps() bool { return false }

// SetPaused is operator.Run's: a statement has nothing in flight that could wait.
func (c *Change) SetPaused(string) {}

// InFlight is operator.Run's.
func (c *Change) InFlight() int { return 0 }

// Apply is operator.Run's: a statement reads how it asks for its lock each time.
func (c *Change) Apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	return operator.CheckKills(ctx, c.pool.DB(), c.plan.Statement.Tables()[0], c.control.Settings(), settings, values)
}

// claimAll keeps other runs away from all tables of the statement. It claims them in one order,
// because otherwise two runs could block each other.
func (c *Change) claimAll(ctx context.Context, fail context.CancelCauseFunc) (release func(), err error) {
	var claims []*leftovers.Claim
	release = func() {
		for _, claim := range claims {
			claim.Release()
		}
	}
	names := c.plan.Statement.Tables()
	slices.SortFunc(names, func(a, b schema.Name) int { return cmp.Compare(a.Quoted(), b.Quoted()) })
	for _, name := range names {
		claim, err := leftovers.ClaimTable(ctx, c.pool, name, fail)
		if err != nil {
			release()
			return nil, err
		}
		claims = append(claims, claim)
	}
	return release, nil
}

// endPatience bounds the drop of the tables that were put aside; a DROP that has begun is not
// withdrawn.
const endPatience = time.Minute

// end marks the table that was put aside, if it has no mark yet. It drops it, or reports where it is.
func (c *Change) end(result *migration.Result) error {
	p := c.plan
	c.enter(event.PhaseCleanup)
	ctx, cancel := context.WithTimeout(context.Background(), endPatience)
	defer cancel()
	old := leftovers.Old{Pool: c.pool, Source: p.Statement.Table, Name: p.Aside, Truncated: p.Statement.Kind == ddl.KindTruncate}
	if old.Truncated && c.undo.Ledger != nil { // the end of a passing record has marked it
		old.Keep(ctx, p.Table.Comment, "", c.control.Settings().Lock.Wait, c.note)
	}
	result.Old = p.Aside.Dotted()
	if p.Keep {
		return nil
	}
	var err error
	if len(p.Slices) > 1 {
		err = old.Empty(ctx, p.Slices)
	}
	if err == nil {
		err = old.Drop(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", failure.ErrLeftovers, err)
	}
	result.Old = ""
	return nil
}

// failure returns what is left after an error, and what to do.
func (c *Change) failure(ctx context.Context, err error) error {
	f := &failure.Failure{Phase: c.phase, Err: err, Swapped: c.done}
	tables := c.plan.Statement.Tables()
	all, table := schema.List(tables), tables[0]
	switch {
	case errors.Is(err, tableddl.ErrUnknown):
		f.Left = fmt.Sprintf("The outcome of the %s is unknown (%s).", c.plan.Statement.Kind, all)
		if c.plan.Aside != (schema.Name{}) {
			f.Left = fmt.Sprintf("The outcome of the %s is unknown; if the server executed it, %s is left (%s).", c.plan.Statement.Kind, c.plan.Aside, all)
		}
		f.Next = fmt.Sprintf("Check with: SHOW TABLES FROM %s.", schema.Quote(table.Schema))
	case errors.Is(err, failure.ErrLeftovers):
		f.Left = fmt.Sprintf("The %s is done; %s is left.", c.plan.Statement.Kind, c.plan.Aside)
		f.Next = fmt.Sprintf("Remove it with: midstream cleanup  --old %s", table.Argument())
	case errors.Is(err, tableddl.ErrTwinLeft):
		f.Err = fmt.Errorf("%w: %w", failure.ErrLeftovers, err)
		f.Left = fmt.Sprintf("%s is untouched. Left on the server: %s, which is empty.", all, c.plan.Twin)
		f.Next = fmt.Sprintf("Check that it is empty, and run: DROP TABLE %s.", c.plan.Twin.Quoted())
	case errors.Is(err, leftovers.ErrOvertaken):
		f.Left, f.Next = fmt.Sprintf("This run has not touched %s.", all), leftovers.AfterOvertaken(table)
	case c.plan.Back != nil:
		f.Left, f.Next = c.left(ctx), failure.NextAfter(ctx, err)
		var rows *unfit
		var long *longMerge
		switch then := "; then run the same command again."; {
		case errors.As(err, &rows):
			f.Next = rows.next
		case errors.As(err, &long):
			f.Next = plan.MoreWork(long.takes) + then
		case errors.Is(err, cutover.ErrOverrun), errors.Is(err, cutover.ErrSlow):
			f.Next = plan.MoreWork(0) + then
		}
	case c.plan.Redo:
		f.Left, f.Next = c.left(ctx), failure.NextAfter(ctx, err)
	default:
		f.Left = fmt.Sprintf("%s is untouched, and nothing is left on the server.", all)
		f.Next = failure.NextAfter(ctx, err)
	}
	return f
}
