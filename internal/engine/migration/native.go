package migration

import (
	"context"
	"fmt"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// mostBuilds is how often the server may build in vain before a shadow takes over.
const mostBuilds = 3

// ownStatement is a run that lets the server itself change the table.
type ownStatement struct{ *run }

// natively lets the server itself change the table. If that fails in a way that a shadow may avoid, done
// is false.
func (r ownStatement) natively(ctx context.Context) (done bool, err error) {
	wish, statement := specs.NativeUndo(r.plan, r.cfg.Undo, r.cfg.Soak), func() error { return r.statement(ctx) }
	err = leftovers.Natively(ctx, r.leftovers, wish, r.plan.EndsUndo, statement, r.note)
	if err == nil || r.debts.half || !r.plan.Choice.Shadow || !failure.WorthAShadow(err) || ctx.Err() != nil {
		return true, err
	}
	r.account.update(func() { r.account.method = plan.MethodShadow })
	next := "the table is unchanged, and the run copies it to a new table instead"
	if dbconn.Duplicate(err) && !r.cfg.NoPrescan {
		next = "the table is unchanged, and the run looks for every such row"
	}
	r.note(fmt.Sprintf("%v: %s", err, next))
	return false, nil
}

// first has the server carry out the statement that comes before, if there is one, and returns the
// table for the next one.
func (r ownStatement) first(ctx context.Context) (*schema.Table, error) {
	statement := r.plan.FirstStatement()
	if statement == "" {
		return r.plan.Source, nil
	}
	terms := func() lock.Terms { return r.control.Terms(r.plan.Server) }
	_, err := native.Run(
		ctx, r.pool, native.Change{Table: r.plan.Source, Statement: statement, ZeroDates: r.plan.ZeroDates}, terms,
		operator.Turn{Permission: r.permission(event.PhaseNative)}, r.emit,
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plan.MethodInstant, err)
	}
	r.note(fmt.Sprintf("done: %s; next: %s", statement, r.plan.NativeStatement()))
	r.debts.half = true
	return schema.Load(ctx, r.pool.DB(), r.plan.Source.Name)
}

// statement has the server carry out its own statement.
func (r ownStatement) statement(ctx context.Context) error {
	choice, permission := r.plan.Choice, r.permission(event.PhaseNative)
	if choice.Method == plan.MethodNone {
		r.note("nothing to do: " + choice.Why)
		r.debts.done = true
		return nil
	}
	long := choice.Builds || choice.Method == plan.MethodCopy
	permission.Copies = long
	if _, err := permission.Wait(ctx, nil); err != nil {
		return err
	}
	r.enter(event.PhaseNative)
	table, err := r.first(ctx)
	if err != nil {
		return err
	}
	terms := func() lock.Terms {
		t := r.control.Terms(r.plan.Server)
		if long && choice.Shadow && (t.Most == 0 || t.Most > mostBuilds) {
			t.Most = mostBuilds
		}
		return t
	}
	result, err := native.Run(ctx, r.pool, native.Change{
		ZeroDates: r.plan.ZeroDates,
		Table:     table, Statement: r.plan.NativeStatement(), Long: long, Work: choice.Work,
	}, terms, operator.Turn{Permission: permission, Last: true}, r.emit)
	r.account.update(func() { r.account.swap.Attempts = result.Attempts })
	if err != nil {
		return fmt.Errorf("%s: %w", choice.Method, err)
	}
	r.debts.done = true
	r.account.update(func() { r.account.times.native = result.Took })
	return nil
}
