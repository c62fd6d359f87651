package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/native"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Options are the operator's wishes.
type Options struct {
	// Plan are the wishes on the plan. Make sets Work and Limits.Apart by Settings.
	Plan plan.Options
	// Config is the config of the run, with the replica that it reads changes from.
	Config migration.Config
	// Settings are the settings that the run begins with.
	Settings operator.Settings
	// FactsOnly keeps Make from all questions: no empty copy is made and nothing is measured. The
	// plan is then a shadow.
	FactsOnly bool
	// Undo is set if the last change of the table is to be taken back: then only the ALTER's table counts.
	Undo *Undo
	// EndUndo allows a change that ends the undo of the one before.
	EndUndo bool
	// Calibrate measures the pace of the server. It copies some rows to a scratch table.
	Calibrate bool
	// Scratch reaches the server on which the questions are asked that need a table of ours, with the global values of the table's
	// server. It also returns the name of that server for people. nil: the table's server itself.
	Scratch func(ctx context.Context, globals map[string]string) (*dbconn.Pool, string, error)
	// Note is called with what people should know while they wait. Defaults to nothing.
	Note func(string)
}

// Make makes the plan of an ALTER. Its error is a *plan.Refused, an *Error, or the *failure.Failure
// of a calibration.
func Make(ctx context.Context, server Server, alter *ddl.Alter, options Options) (p *plan.Plan, err error) {
	if options.Undo != nil {
		p, err = makeUndo(ctx, server, alter.Table, *options.Undo, options)
	} else {
		p, err = makeChange(ctx, server, alter, options)
	}
	return p, Denied(ctx, server, alter.Table, err)
}

// makeChange makes the plan of an ALTER that is no undo.
func makeChange(ctx context.Context, server Server, alter *ddl.Alter, options Options) (p *plan.Plan, err error) {
	m := maker{server: server, alter: alter, options: options}
	settings := options.Settings.WithDefaults()
	m.options.Plan.Work, m.options.Plan.KeepsUndo = settings.Lock.Work, options.Config.Undo > 0
	m.options.Plan.Limits.Apart = !settings.Throttle.CopyWindow.Meets(settings.When.Window, time.Now())
	if options.Scratch != nil {
		if err := plan.RefusesScratch(alter.Table.String()+" on "+server.Address, plan.OutsideScratch(m.options.Plan, options.Calibrate)); err != nil {
			return nil, err
		}
	}
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	if options.Scratch != nil {
		end, err := m.openScratch(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	p, err = m.decide()
	if !options.FactsOnly {
		p, err = m.ask(ctx, p, err)
	}
	if err == nil {
		err = m.judgeSet(ctx)
	}
	if options.FactsOnly {
		return p, err
	}
	if err == nil {
		p, err = m.withSwap(ctx, p)
	}
	if err != nil || !options.Calibrate {
		return p, err
	}
	if err := m.calibrate(ctx, p); err != nil {
		return nil, err
	}
	return m.decide()
}

// maker makes one plan.
type maker struct {
	server  Server
	alter   *ddl.Alter
	options Options
	table   *schema.Table
	facts   *plan.Facts
	// scratch is where the server's answers come from; nil for the server itself.
	scratch *native.Scratch
	// open is the undo of the change before; nil if it is not open, or this is an undo.
	open *leftovers.Undoable
	// earlier is the undo of the change before, open or not; nil if there is none.
	earlier *plan.Earlier
	// back is how the server would alter the table back itself; nil if it was not asked, or refuses. notBack is why it refuses; "" if
	// it does not.
	back    *plan.Answer
	notBack string
}

// decide makes the plan from the known facts.
func (m *maker) decide() (*plan.Plan, error) {
	p, err := plan.Make(m.facts, m.table, m.alter, m.options.Plan)
	if err != nil {
		return nil, err
	}
	if p, err = m.undoably(p); err == nil {
		p.Earlier = m.earlier
		p.Risks = slices.Concat(p.Risks, m.narrows(p), m.endsOpenUndo(p))
	}
	return p, err
}

// read reads the table and the facts.
func (m *maker) read(ctx context.Context) (err error) {
	db := m.server.Pool.DB()
	if m.table, err = schema.Load(ctx, db, m.alter.Table); err != nil {
		return failed(ReadTable, m.alter.Table, schema.Missing(ctx, db, m.alter.Table, err))
	}
	name := m.table.Name
	if !m.options.FactsOnly {
		if err := native.Parse(ctx, m.server.Pool, m.alter.Restore(name), m.options.Plan.TakesZeroDates(m.table)); err != nil {
			return failed(AskServer, name, err)
		}
	}
	if err := m.readOpenUndo(ctx); err != nil {
		return failed(ReadFacts, name, m.server.readingFrom(err))
	}
	wish := m.options.Plan.Names
	if m.facts, err = facts.Gather(ctx, db, name, wish.Shadow, wish.Old); err != nil {
		return failed(ReadFacts, name, m.server.readingFrom(err))
	}
	m.table.Rows = max(m.table.Rows, m.facts.Counted)
	if plan.OldStatistics(m.table) {
		files, err := facts.FileBytes(ctx, db, name)
		if err != nil {
			return failed(ReadFacts, name, err)
		}
		m.table.DataBytes = max(m.table.DataBytes, files-m.table.IndexBytes)
	}
	if err := facts.GatherParents(ctx, db, m.facts, name, plan.AddedBy(m.table, m.alter)); err != nil {
		return failed(ReadFacts, name, err)
	}
	for i, p := range m.options.Plan.Together {
		if !p.Binds(m.table) {
			continue
		}
		if p.Table, err = schema.LoadOwn(ctx, db, p.Alter.Table); err != nil {
			return failed(ReadTable, p.Alter.Table, err)
		}
		m.options.Plan.Together[i] = p
	}
	if err := m.readReplica(ctx); err != nil {
		return failed(ReadReplica, name, err)
	}
	if err := m.readFilter(ctx); err != nil {
		return err
	}
	if err := m.readSet(ctx); err != nil {
		return err
	}
	if err := m.readInto(ctx); err != nil {
		return err
	}
	if m.facts.NullFree, err = facts.NullFree(ctx, db, m.table); err != nil {
		return failed(ReadFacts, name, err)
	}
	if plan.TakesColumns(m.alter) {
		if m.facts.Dependents, err = facts.GatherDependents(ctx, db, name); err != nil {
			return failed(ReadFacts, name, fmt.Errorf("look for what names %s: %w", name, err))
		}
	}
	return nil
}

// readReplica adds the facts of the replica that changes are read from.
func (m *maker) readReplica(ctx context.Context) error {
	from := m.options.Config.CaptureFrom
	if from == nil {
		return nil
	}
	replica, err := facts.GatherCapture(ctx, from.DB, from.Name)
	if err == nil {
		err = facts.ReadTable(ctx, from.DB, replica, m.table.Name)
	}
	if err == nil {
		m.facts.CaptureFrom(replica)
	}
	return err
}

// ask asks the server what the facts leave open, and decides again. p and err are the decision by
// the facts alone.
func (m *maker) ask(ctx context.Context, p *plan.Plan, err error) (*plan.Plan, error) {
	if m.facts.Native = plan.AnswerDrop(m.facts, m.table, m.alter, m.options.Plan, err); m.facts.Native != nil {
		return m.decide()
	}
	if plan.MayAsk(m.facts, m.table, m.alter, m.options.Plan, err) {
		return m.askMethod(ctx, err)
	}
	return m.tried(ctx, p, err)
}

// tried makes and alters an empty copy, as a run by a shadow does, if that may be done, and decides again. p and err are the decision
// so far.
func (m *maker) tried(ctx context.Context, p *plan.Plan, err error) (*plan.Plan, error) {
	if err != nil || !plan.MayTry(p, m.facts, m.alter, m.options.Plan) {
		return p, err
	}
	if p, err = m.withSwap(ctx, p); err != nil { // before a copy with all partitions
		return p, err
	}
	if m.facts.Trial, err = m.try(ctx); err != nil {
		return nil, err
	}
	return m.decide()
}

// sweep removes the empty copies of the table that killed plans have left. This one is about to make its own.
func (m *maker) sweep(ctx context.Context) {
	if m.scratch != nil {
		return
	}
	if note := leftovers.DropClones(ctx, m.server.Pool, m.table.Name); note != "" && m.options.Note != nil {
		m.options.Note(note)
	}
}

// askMethod asks the server for the method of its own that it would use for the ALTER.
func (m *maker) askMethod(ctx context.Context, refused error) (*plan.Plan, error) {
	m.sweep(ctx)
	var err error
	m.facts.Native, m.facts.Split, err = m.method(ctx)
	switch {
	// The plan lists the privileges that the account lacks.
	case refused != nil && dbconn.Denied(err):
		return nil, refused
	case errors.Is(err, native.ErrForeign):
		return m.bound(ctx, refused, err)
	case err != nil:
		err = fmt.Errorf("ask %s how it would change %s: %w", m.server.Address, m.table.Name, err)
		return nil, failed(AskServer, m.table.Name, err)
	}
	if m.facts.Native != nil {
		m.facts.Trial = m.facts.Native.Trial
	}
	p, err := m.decide()
	if err != nil || m.options.Config.Undo <= 0 || p.Inverse == nil || !p.Keeps() {
		return p, err
	}
	m.back, err = native.Then(ctx, m.asked(), m.question(), p.Inverse.Alter)
	switch {
	case errors.Is(err, native.ErrRefused):
		m.notBack = fmt.Sprintf("no ALTER leads back: %v", err)
	case err != nil:
		return nil, failed(AskServer, m.table.Name, fmt.Errorf("ask %s how it would change %s back: %w", m.server.Address, m.table.Name, err))
	}
	return m.decide()
}

// bound plans an ALTER that the server refuses because of foreign keys: a run by a shadow, or a refusal. refused is why a shadow cannot
// do it.
func (m *maker) bound(ctx context.Context, refused, why error) (*plan.Plan, error) {
	if refused != nil || m.options.Plan.Method != "" {
		return nil, plan.RefusesBound(m.table, refused, why.Error())
	}
	p, err := m.decide()
	return m.tried(ctx, p, err)
}

// method asks the server how it would change the table. It asks for the lightest method and, if the
// settings wish for a heavier one, whether the server has that. Otherwise it asks whether two
// statements would be lighter.
func (m *maker) method(ctx context.Context) (*plan.Answer, *plan.Split, error) {
	pool, question, wish := m.asked(), m.question(), m.options.Plan.Method
	drops := plan.DropsForeign(m.table, m.alter)
	if drops { // the copy shows only the rest
		question.From = plan.MethodInplace
	}
	answer, err := native.Ask(ctx, pool, question)
	if err == nil && drops {
		answer.Effect = max(answer.Effect, plan.Metadata)
	}
	if err == nil && wish == "" {
		split, err := native.Split(ctx, pool, question, answer)
		return answer, split, err
	}
	if err != nil || !wish.HeavierThan(answer.Method) {
		return answer, nil, err
	}
	lighter := answer.Method
	question.From = wish
	if answer, err = native.Ask(ctx, pool, question); err == nil {
		answer.Lighter = lighter
	}
	return answer, nil, err
}

// question asks the server how it would change the table.
func (m *maker) question() native.Question {
	question := questionOf(m.server, m.table, m.alter, m.options.Plan)
	question.CopiesOnline = m.facts.Version.CopiesOnline()
	question.Adds, question.Binds = plan.AddedBy(m.table, m.alter), plan.BoundBy(m.table, m.alter)
	if m.scratch != nil {
		return m.scratch.Question(question)
	}
	return question
}

// questionOf is a question about an ALTER without foreign keys, which is asked on an empty copy next to the table.
func questionOf(server Server, table *schema.Table, alter *ddl.Alter, options plan.Options) native.Question {
	return native.Question{
		Table: table, Alter: alter, ZeroDates: options.TakesZeroDates(table), Clone: server.Pool.CloneOf(table.Name, ""),
		ClausesFor: func(alter *ddl.Alter, clone *schema.Table) string { return plan.ClausesFor(alter, table, clone) },
	}
}

// try lets the server carry out the ALTER on an empty copy, and fails if the server refuses it.
// Without an answer the run finds out.
func (m *maker) try(ctx context.Context) (*plan.Trial, error) {
	m.sweep(ctx)
	trial, err := native.Try(ctx, m.asked(), m.question())
	if errors.Is(err, native.ErrRefused) || errors.Is(err, native.ErrNoCopy) || errors.Is(err, native.ErrLeft) {
		err = fmt.Errorf("try the ALTER on an empty copy of %s: %w", m.table.Name, err)
		return nil, failed(AskServer, m.table.Name, err)
	}
	return trial, nil
}

// calibrate measures the pace of the server.
func (m *maker) calibrate(ctx context.Context, p *plan.Plan) error {
	if m.options.Note != nil {
		m.options.Note("calibrating: some rows are copied to a scratch table, for at most about a minute")
	}
	run := migration.New(m.server.Pool, m.server.Binlog, p, m.options.Config, operator.NewControl(m.options.Settings), event.Discard)
	pace, err := run.Calibrate(ctx, m.question())
	if err == nil {
		m.options.Plan.Pace = &pace
	}
	return err
}
