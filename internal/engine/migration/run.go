package migration

import (
	"context"
	"sync/atomic"
	"time"

	"midstream/internal/engine/brakes"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/schema"
)

// run is one call of Run, Rehearse, Check or Calibrate. Its parts are there from the beginning; what
// it prepares is in its work.
type run struct {
	*Migration
	account   *account
	debts     *debts
	brakes    *brakes.Brakes
	store     *checkpoint.Store
	link      *intake.Link
	leftovers *leftovers.Cleaner // of this run and earlier ones
	// serverStart is when the server was started, as a Checkpoint has it.
	serverStart int64
	// verifies and repairs are the settings of Config, unless the run has found a reason against
	// them.
	verifies, repairs bool
	// prepared is the work of the run; nil until it is complete.
	prepared atomic.Pointer[work]
}

func newRun(m *Migration) *run {
	r := &run{
		Migration: m,
		account:   newAccount(m),
		debts:     &debts{shadowName: m.plan.Names.Shadow},
		store:     checkpoint.New(m.plan.Names.State, m.plan.Source.Name, m.pool.Name(), m.plan.Server.UUID),
		leftovers: leftovers.New(m.pool, m.plan.Source.Name, m.plan.Purpose),
		verifies:  !m.cfg.NoVerify,
		repairs:   m.cfg.Repair,
	}
	r.brakes = braked{r}.newBrakes()
	r.link = intake.NewLink(intake.Deps{
		Pool: m.pool, Binlog: m.binlog, Plan: m.plan, From: m.cfg.CaptureFrom, Config: m.cfg.Capture,
		Store: r.store, Control: m.control, Emit: m.emit,
	})
	if m.plan.Purpose == plan.RehearsingOnReplica {
		r.store.OnReadOnly()
	}
	return r
}

// enter begins a phase.
func (r *run) enter(p event.Phase) { r.account.enter(p) }

func (r *run) note(text string) { r.emit(event.Note{Text: text, At: time.Now()}) }

func (r *run) createState(ctx context.Context) error {
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	r.debts.begun = true
	if err := r.store.Create(ctx, session); err != nil {
		return err
	}
	// From here on the state table records the shadow. The shadow gets its own mark only after it
	// is created.
	return r.store.Fill(ctx, session, checkpoint.Checkpoint{
		Version: r.cfg.version(r.plan), Phase: string(event.PhaseShadow), ServerUUID: r.plan.Server.UUID, Shadow: r.plan.Names.Shadow.Table,
		Adopted: r.plan.Back.Adopts(), Again: r.plan.Again,
	})
}

// draft is a shadow that was created, with everything that is derived from it: nothing is captured
// yet.
type draft struct {
	shadow *shadow.Shadow
	specs  specs.Set
	start  checkpoint.Start
	moves  *rowsync.Moves // nil if no column of the shadow is kept
}

func (r *run) createShadow(ctx context.Context) (*draft, error) {
	made, err := shadow.Create(ctx, r.pool, shadow.Wanted{
		Source: r.plan.Source, Name: r.plan.Names.Shadow, Clauses: r.plan.ClausesFor, ZeroDates: r.plan.ZeroDates, Rounds: r.plan.Rounds,
		Rewrites: plan.Rewritten,
		Helper:   r.plan.Helper,
	})
	r.debts.shadow = made != nil
	r.debts.unmarked.Store(made != nil && made.Unmarked)
	if err != nil {
		return nil, err
	}
	r.debts.owe(made.Name, r.plan.Names.Old.Table, r.plan.Names.Kept.Table)
	d, err := draftOf(ctx, r, made)
	if err == nil && r.cfg.Defers(r.plan) {
		err = made.Defer(ctx, r.pool, made.Deferrable(d.specs.Sync.ShadowIndex))
	}
	return d, err
}

// draftOf derives everything from a shadow, and makes it ready for foreign keys and triggers.
func draftOf(ctx context.Context, r *run, made *shadow.Shadow) (*draft, error) {
	if err := (carrier{r}).readyForForeign(ctx, made); err != nil {
		return nil, err
	}
	if err := (carrier{r}).tryTriggers(ctx, made.Name); err != nil {
		return nil, err
	}
	now, err := specs.ReadClock(ctx, r.pool)
	if err != nil {
		return nil, err
	}
	d := &draft{shadow: made}
	if d.specs, err = specs.Of(r.plan, made.Table, now); err != nil {
		return nil, err
	}
	definition, _ := schema.SplitAutoIncrement(r.plan.Source.Create)
	d.start = checkpoint.Start{
		Purpose:    string(r.plan.Purpose),
		Source:     definition,
		Alter:      r.plan.Alter.Clauses,
		Key:        r.plan.Key.Name,
		Map:        r.plan.Map,
		Filter:     r.plan.Filter,
		Set:        r.plan.Set,
		Into:       r.plan.Into.Name,
		View:       r.plan.Into.View,
		Together:   r.cfg.Together.Others(),
		Zone:       r.plan.Server.TimeZone,
		Deciding:   r.plan.Deciding(),
		ServerTime: now.Server,
		UTC:        now.UTC,
		Began:      r.account.started,
		Shadow:     made.Table,
		Unmarked:   made.Unmarked,
		Comment:    made.Comment,
		Was:        r.plan.Source.Comment,
		Old:        r.plan.Names.Old.Table,
		Kept:       r.plan.Names.Kept.Table,
		Columns:    r.plan.Source.Columns,
		Foreign:    plan.Carried(r.plan),
		Dropped:    r.plan.Dropped,
		Acting:     r.plan.Acting,
		Keyed:      r.plan.Keyed(),
		Triggers:   r.plan.Source.Triggers,
		Undo:       specs.Undo(r.plan, d.shadow.Table, r.cfg.undo(), d.specs.Pairs),
	}
	return d, nil
}

// nameForbidding adds blockers to the error of a statement that waited for a lock in vain: the
// sessions that let no other session read the source or create a table.
func (r *run) nameForbidding(ctx context.Context, err error) error {
	if !r.plan.Server.MetadataLocks {
		return err
	}
	return (&lock.Watcher{DB: r.pool.DB(), Tables: []schema.Name{r.plan.Source.Name}}).Name(ctx, err)
}
