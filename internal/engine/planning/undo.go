package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/event"
	"midstream/internal/engine/follow"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/engine/wholetables"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Undo is how a change is taken back.
type Undo struct {
	// Cold syncs all rows, and not only those that have changed since the swap.
	Cold bool
	// Why is why an earlier attempt was not to be lazy; "" if there was none.
	Why string
	// Lazy refuses an undo that would have to sync all rows.
	Lazy bool
	// Merge takes over, for the undo of a TRUNCATE, the rows that were written since.
	Merge bool
	// Park copies the rows that the old definition refuses to a table of their own.
	Park bool
	// Fills are as plan.Back has them.
	Fills map[string]string
	// Given are the names of the flags on the command line.
	Given []string
}

// undoMaker makes the plan of one undo.
type undoMaker struct {
	server  Server
	undo    Undo
	options Options

	// saved is the record of the change. pairs are those of plan.Back: nil if the server has the record.
	saved *checkpoint.Saved
	pairs map[string]string
	// table and old are the two tables. alter leads from one to the other, with the columns of says: the table's for each of
	// the old one, "" for none.
	table, old *schema.Table
	alter      *ddl.Alter
	says       map[string]string
	// back is what every plan has, and risks are those of every plan.
	back  plan.Back
	risks []plan.Risk
}

// makeUndo makes the plan of the undo of the last change of a table: its Alter leads back. It fails with
// leftovers.ErrNoUndo if there is none.
func makeUndo(ctx context.Context, server Server, name schema.Name, undo Undo, options Options) (*plan.Plan, error) {
	options.Undo, options.Calibrate = nil, false
	m := undoMaker{server: server, undo: undo, options: options}
	if err := m.readRecord(ctx, name); err != nil {
		return nil, err
	}
	if m.saved.Undo.Native != nil {
		if options.Settings.When.Follow {
			return nil, noFollower(name, "the server takes this change back by its own ALTER")
		}
		const kind = "a change that the server has made itself, which has left no old table"
		if err := undo.Only(name, kind, append(byShadow, byServer...)...); err != nil {
			return nil, err
		}
		p, err := makeNativeUndo(ctx, server, m.table, *m.saved.Undo, options)
		if err == nil && p.Choice.Method != plan.MethodShadow {
			err = undo.Only(name, kind, byServer...)
		}
		return p, err
	}
	if err := m.readTables(ctx); err != nil {
		return nil, err
	}
	if err := m.readPartners(ctx); err != nil {
		return nil, err
	}
	why := undo.Why
	if !undo.Cold {
		p, reason, err := m.makeLazy(ctx)
		if err != nil || reason == "" {
			return p, err
		}
		if undo.Lazy {
			return nil, revoked(name, reason)
		}
		why = reason
	}
	p, err := m.make(ctx, m.options, m.back)
	if err == nil {
		err = findable(p, m.old)
	}
	if err == nil {
		err = m.followKeys(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	if why != "" && !m.saved.Undo.Rebuilt {
		p.Risks = append(p.Risks, plan.Risk{
			Code: plan.CodeUndo, What: p.Back.Verb() + " syncs and compares all rows, and not only the changed ones", Why: why,
		})
	}
	if m.saved.Checkpoint.Parked {
		p.Risks = append(p.Risks, plan.Risk{
			Code: plan.CodeUndo, What: "rows that the last undo or redo has parked do not come back", Fix: "Leave out --cold if you gave it; midstream undo  --list " + name.Argument() + " names their table",
			Why: p.Back.Verb() + " syncs all rows, and the table does not have them: only the table of parked rows does",
		})
	}
	if p.Back.Redo && len(p.Set) > 0 {
		p.Risks = append(p.Risks, plan.Risk{
			Code: plan.CodeUndo, What: "the redo computes the expressions of --set for all rows, also for rows that have not changed since the swap",
			Why: "it syncs all rows",
		})
	} else if why, differs, err := p.Unseen(m.old); err == nil && differs {
		p.Risks = append(p.Risks, plan.Risk{
			Code: plan.CodeUndo, What: "the present values replace all former ones, also of rows that have not changed since the swap", Why: why,
		})
	}
	return p, nil
}

// readRecord reads the table, and the record of its last change. Without one, the two tables show what can be known.
func (m *undoMaker) readRecord(ctx context.Context, name schema.Name) (err error) {
	m.saved, err = leftovers.New(m.server.Pool, name, plan.Undoing).UndoOfAlter(ctx)
	kept := !errors.Is(err, leftovers.ErrNoUndo)
	switch {
	case !kept && len(m.options.Plan.Together) > 0:
		return notAlone(name, "its change was swapped in one step with that of other tables, and nothing is kept of it any more", m.options.Plan.Together[0].Alter.Table)
	case !kept:
		err = m.rebuild(ctx, name)
	case err == nil:
		_, err = leftovers.CheckFollowing(ctx, m.server.Pool, m.saved) // the swap would break the replication
	}
	var refused *plan.Refused
	if errors.As(err, &refused) {
		return err
	}
	if err != nil {
		return failed(ReadFacts, name, err)
	}
	if err := m.wholeGroup(name); err != nil {
		return err
	}
	if kept {
		m.table, err = schema.Load(ctx, m.server.Pool.DB(), name)
		if errors.Is(err, schema.ErrNotFound) {
			err = m.isGone(ctx, name, err)
		}
		if errors.As(err, &refused) {
			return err
		}
		if err != nil {
			return failed(ReadTable, name, err)
		}
	}
	if err := m.within(ctx, name); err != nil {
		return err
	}
	return agrees(name, m.options.Plan.Map, m.saved.Undo.Pairs)
}

// isGone refuses the undo of a table that does not exist, and names the table that may be it. Otherwise it returns the error.
func (m *undoMaker) isGone(ctx context.Context, name schema.Name, err error) error {
	found, lookErr := leftovers.Undoables(ctx, m.server.Pool, &name)
	if lookErr != nil || len(found) != 1 || found[0].Why == "" {
		return err
	}
	return refuse(name, notBack, found[0].Why, "Give the table its name back. Or give the undo up: midstream undo  --end "+name.Argument())
}

// within fails with follow.ErrOver if the undo is to follow the table, and its time is over. Without a record it has none.
func (m *undoMaker) within(ctx context.Context, name schema.Name) error {
	record := m.saved.Undo
	if record.Native != nil || !m.options.Settings.When.Hold {
		return nil
	}
	if m.pairs != nil {
		return refuse(name, cannotUse("--hold"), "nothing was kept of the change, so there is no time in which it may follow the table", "Leave out --hold")
	}
	now, err := leftovers.ServerTime(ctx, m.server.Pool.DB())
	if err == nil && now.After(record.Until) {
		err = follow.ErrOver
	}
	if err != nil {
		return failed(ReadFacts, name, err)
	}
	return nil
}

// readTables reads the old table, and finds what leads back to it.
func (m *undoMaker) readTables(ctx context.Context) (err error) {
	table, saved := m.table, m.saved
	if m.old, err = former(ctx, m.server, table, saved); err != nil {
		return err
	}
	m.says = backwards(table, m.old, saved.Undo.Pairs)
	if err := tryFlags(ctx, m.server.Pool, m.undo, table, m.old, m.says); err != nil {
		return err
	}
	if err := m.undo.oldTable(table.Name, m.options.Plan.Names.Shadow, saved.Undo.Old); err != nil {
		return err
	}
	if m.alter, err = desired.Back(table, m.old, saved.Start.Comment, m.says, present(saved.Undo.Foreign, table)); err != nil {
		return failed(ReadTable, table.Name, err)
	}
	o := &m.options.Plan
	o.Purpose, o.Method, o.Map, o.OpenUndo = plan.Undoing, plan.MethodShadow, m.says, ""
	o.Names.Shadow = m.old.Name.Table
	if o.Names.Old == "" {
		if o.Names.Old, err = aside(ctx, m.server.Pool, table.Name, saved); err != nil {
			return failed(ReadFacts, table.Name, err)
		}
	}
	m.back = plan.Back{
		For: saved.Undo.For, Mode: saved.Undo.Mode, DropOld: saved.Undo.DropOld, Park: m.undo.Park, Fills: m.undo.Fills, Old: m.old,
		Rest:    saved.Start.Filter,
		Began:   saved.Start.UTC,
		Foreign: absent(saved.Start.Dropped, table), Swapped: saved.Undo.Swapped, Alter: saved.Start.Alter, Redo: saved.Undo.Back,
		Pairs: m.pairs, Values: saved.Undo.Values, ValuesAfter: saved.Checkpoint.Values,
		Set: saved.Undo.Set,
	}
	if m.back.Redo {
		o.Set = m.back.Set
	}
	m.risks = slices.Concat(takenBackToo(table, saved), doesNotComeBack(table, m.old, saved), m.unrecorded())
	return nil
}

// make makes a plan.
func (m *undoMaker) make(ctx context.Context, options Options, back plan.Back) (*plan.Plan, error) {
	options.Plan.Back = &back
	p, err := Make(ctx, m.server, m.alter, options)
	if err != nil {
		return nil, err
	}
	p.Risks = append(p.Risks, m.risks...)
	p.WarnOfNewRows(options.Plan.Followed)
	columns, err := p.Columns(m.old)
	if err != nil {
		return nil, refusal(p, "the undo cannot follow the table", err.Error())
	}
	warnOfRows(p, m.old, columns.Mappings)
	if back.Rest != "" {
		if err := m.sameSettings(p); err != nil {
			return nil, err
		}
		p.NoWayBack = plan.FilteredAgain
		p.Risks = append(p.Risks, restRisk(p, m.old, columns.Mappings))
	}
	return p, nil
}

// makeLazy makes the plan of a lazy undo. why is why there can be none; "" if there is the plan.
func (m *undoMaker) makeLazy(ctx context.Context) (p *plan.Plan, why string, err error) {
	record := m.saved.Undo
	if record.Rebuilt || record.Mode != plan.UndoLazy {
		return nil, leftovers.NotLazy(m.saved, m.table, false), nil
	}
	options, back := m.options, m.back
	back.Lazy = true
	byLog := record.Log != "" && options.Plan.Capture != plan.CaptureBinlog
	if o := &options.Plan; byLog {
		back.Log, o.Capture, o.Key = record.Log, plan.CaptureTrigger, cmp.Or(o.Key, record.Key)
	}
	p, err = m.make(ctx, options, back)
	if byLog && m.options.Plan.Key == "" && plan.LacksKey(err) {
		return nil, fmt.Sprintf("the triggers have logged the key %s, by which the rows cannot be found", record.Key), nil
	}
	if err != nil {
		return nil, "", err
	}
	if err := unseen(p, m.saved, m.old); err != nil {
		return nil, "", failed(ReadFacts, m.table.Name, err)
	}
	if why, err = notLazy(ctx, m.server, p, m.saved, options); err != nil {
		return nil, "", failed(ReadFacts, m.table.Name, m.server.readingFrom(err))
	}
	if why == "" {
		err = m.givenUp(ctx, p)
	}
	return p, why, err
}

// followKeys has an undo by all rows follow the keys of rows from the swap on, if it keeps values and can. An undo that follows after
// a failed one of that kind does not try it again.
func (m *undoMaker) followKeys(ctx context.Context, p *plan.Plan) error {
	saved, record := *m.saved, *m.saved.Undo
	record.Lacks, record.OnlyCold, saved.Undo = false, "", &record // rows that have come back are in the binlog, or have not changed
	if p.KeepsValues(m.old) && m.undo.Why == "" && p.Capture.By != plan.CaptureTrigger {
		why, err := notLazy(ctx, m.server, p, &saved, m.options)
		if err != nil {
			return failed(ReadFacts, m.table.Name, m.server.readingFrom(err))
		}
		p.Back.Moves = why == ""
	}
	return m.givenUp(ctx, p)
}

// former reads the old table. It refuses one that is not as the change has left it, and a table with a new column of which
// the undo would replace the values.
func former(ctx context.Context, server Server, table *schema.Table, saved *checkpoint.Saved) (*schema.Table, error) {
	name := table.Name.Sibling(saved.Undo.Old)
	old, err := schema.Load(ctx, server.Pool.DB(), name)
	if why := leftovers.OldUnfit(saved, name, table.Name, old, err); why != "" {
		if claimed, err := leftovers.Claimed(ctx, server.Pool.DB(), table.Name); claimed && err == nil { // it may have swapped just now
			return nil, refuseBy(plan.CodeAtWork, table.Name, notBack, leftovers.ErrClaimed.Error(), "Run the same command again when that run has ended")
		}
		return nil, refuse(table.Name, notBack, why, changeIt(table.Name)+"; midstream undo  --end "+table.Name.Argument()+" removes the record")
	}
	if err != nil {
		return nil, failed(ReadTable, table.Name, fmt.Errorf("the old table: %w", err))
	}
	if made := leftovers.MadeBy(saved.Start); made != nil {
		if column := leftovers.Replaces(old.Columns, saved.Undo.Pairs, made, table); column != "" {
			return nil, refuse(
				table.Name, notBack,
				fmt.Sprintf("column %s was added since, and the old table has another column of that name: its values would replace the new ones", column),
				fmt.Sprintf("Rename column %s; then this gives its values up: midstream undo  --cold %s. Or give the undo up: midstream undo  --end %[2]s",
					column, table.Name.Argument()),
			)
		}
	}
	return old, nil
}

// takenBackToo warns of what later changes have done to the table, by a run or by hand: the old table does not have it.
func takenBackToo(table *schema.Table, saved *checkpoint.Saved) (risks []plan.Risk) {
	made := leftovers.MadeBy(saved.Start)
	if made == nil {
		return nil
	}
	undo := (&plan.Back{Redo: saved.Undo.Back}).Verb()
	if later := desired.Since(made, table); len(later) > 0 {
		risks = append(risks, plan.Risk{
			Code: plan.CodeUndo, What: undo + " takes back later changes of the table too: " + strings.Join(later, ", "),
			Why: "the old table does not have them", Fix: "Make them again after " + undo,
		})
	}
	var gone []string
	for _, c := range table.Columns {
		if _, there := made.Column(c.Name); !there && c.Generated == schema.NotGenerated {
			gone = append(gone, c.Name)
		}
	}
	if len(gone) > 0 {
		risks = append(risks, plan.Risk{
			Code: plan.CodeUndo, What: "the values of columns that were added later are given up: " + strings.Join(gone, ", "),
			Why: "the old table does not have these columns",
			Fix: "The table that " + undo + " puts aside keeps the values",
		})
	}
	return risks
}

// doesNotComeBack warns of a former definition that does not come back as it was: since the swap, an index of the old table was made or
// dropped by hand, or a foreign key of the table was dropped.
func doesNotComeBack(table, old *schema.Table, saved *checkpoint.Saved) []plan.Risk {
	var since []string
	if saved.Undo.Keys != nil {
		before := *old
		before.Keys = saved.Undo.Keys
		for _, clause := range desired.Since(&before, old) {
			since = append(since, clause+" of "+old.Name.Table)
		}
	}
	for _, k := range saved.Start.Foreign {
		same := func(now schema.ForeignKey) bool {
			return now.Child == k.Child && now.Parent == k.Parent && slices.Equal(now.Columns, k.Columns)
		}
		if k.Child == table.Name && !slices.ContainsFunc(table.ForeignKeys, same) {
			since = append(since, "DROP FOREIGN KEY "+schema.Quote(k.Constraint)+" of "+table.Name.Table)
		}
	}
	if len(since) == 0 {
		return nil
	}
	undo := (&plan.Back{Redo: saved.Undo.Back}).Verb()
	return []plan.Risk{{
		Code: plan.CodeUndo, What: undo + " does not bring back the former definition exactly: " + strings.Join(since, ", "),
		Why: "that was done after the swap, and " + undo + " keeps it", Fix: "Take it back by a statement, now or after " + undo,
	}}
}

// notLazy is why the plan of a lazy undo cannot be carried out; "" if it can.
func notLazy(ctx context.Context, server Server, p *plan.Plan, saved *checkpoint.Saved, options Options) (why string, err error) {
	if why := leftovers.NotLazy(saved, p.Source, len(p.Acting) > 0); why != "" {
		return why, nil
	}
	run := migration.New(server.Pool, server.Binlog, p, options.Config, operator.NewControl(options.Settings), event.Discard)
	return run.NotSince(ctx, saved)
}

// unseen sets in the plan of a lazy undo why it does not compare the rows that have not changed, and warns of that. Rows
// that an undo or redo has parked are in the old table of the next one.
func unseen(p *plan.Plan, saved *checkpoint.Saved, old *schema.Table) error {
	fix := "--cold syncs and compares all rows"
	why, differs, err := p.Unseen(old)
	if p.Back.Returns = saved.Checkpoint.Parked; p.Back.Returns {
		why, differs = cmp.Or(why, "the last undo or redo has parked rows, which come back"), true
		fix += ", but the parked rows do not come back then"
	}
	if p.Back.Unseen, p.Back.Differs = why, differs; err != nil || why == "" {
		return err
	}
	if p.Back.Returns {
		columns, err := p.Columns(old)
		if err != nil {
			return err
		}
		if columns.KeyChanged() {
			p.Risks = append(p.Risks, plan.Risk{
				Code: plan.CodeUndo, What: "after this, the change cannot be undone again", Fix: "Put the rows back by hand, and keep the definition that the table has",
				Why: "parked rows come back, which the old table lacks; an undo would have to look at all rows, and the change altered the key",
			})
		}
	}
	p.Risks = append(p.Risks, plan.Risk{
		Code: plan.CodeUndo, Why: why, Fix: fix,
		What: p.Back.Verb() + " compares only the rows that have changed since the swap: it would lose a write since then that the binlog does not have",
	})
	return nil
}

// present are the foreign keys that the table has, and absent those that it lacks.
func present(keys []schema.ForeignKey, table *schema.Table) []schema.ForeignKey {
	gone := absent(keys, table)
	return slices.DeleteFunc(slices.Clone(keys), func(k schema.ForeignKey) bool { return slices.ContainsFunc(gone, k.Is) })
}

func absent(keys []schema.ForeignKey, table *schema.Table) []schema.ForeignKey {
	return slices.DeleteFunc(slices.Clone(keys), func(k schema.ForeignKey) bool {
		return slices.ContainsFunc(table.ForeignKeys, func(fk schema.ForeignKey) bool { return fk.Constraint == k.Constraint })
	})
}

// backwards has the table's column for each column of the old table, "" for none. pairs are those of the change: the
// table may have lost some since.
func backwards(table, old *schema.Table, pairs map[string]string) map[string]string {
	says := map[string]string{}
	for _, c := range old.Columns {
		present, there := table.Column(c.Name)
		// A generated column is the present one of its name, unless that is another column, with values of its own.
		if c.Generated == schema.NotGenerated || there && present.Generated == schema.NotGenerated {
			says[c.Name] = ""
		}
	}
	for fresh, former := range pairs {
		if _, there := table.Column(fresh); there {
			says[former] = fresh
		}
	}
	return says
}

// aside is the name for the table that the undo puts aside: the one that it had before the change, if that was an undo, so
// that the names of the two tables stay the same. It is "" if the usual name of an old table is to be used.
func aside(ctx context.Context, pool *dbconn.Pool, table schema.Name, saved *checkpoint.Saved) (string, error) {
	names := plan.UndoneNames(table)
	if saved.Start.Purpose == string(plan.Undoing) {
		names = []schema.Name{table.Sibling(saved.Start.Shadow.Name.Table)}
	}
	for _, name := range names {
		if _, err := schema.Load(ctx, pool.DB(), name); errors.Is(err, schema.ErrNotFound) {
			return name.Table, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// readOpenUndo reads whether the change before may be taken back. A change that builds a new table would end that.
func (m *maker) readOpenUndo(ctx context.Context) error {
	if m.options.Plan.Purpose != plan.Altering {
		return nil
	}
	found, err := leftovers.Undoables(ctx, m.server.Pool, &m.table.Name)
	mayWrite := !m.options.FactsOnly && m.options.Scratch == nil
	if err == nil && mayWrite && len(found) == 1 && found[0].Record.Ledger != nil && found[0].Record.Ledger.Pending() {
		saved, failed := wholetables.Record(ctx, m.server.Pool, m.table.Name)
		if failed == nil {
			_, failed = wholetables.Settled(ctx, m.server.Pool, m.table.Name, saved, m.listen)
		}
		if failed != nil {
			return failed
		}
		found, err = leftovers.Undoables(ctx, m.server.Pool, &m.table.Name)
	}
	for _, u := range found {
		m.earlier = &plan.Earlier{Swapped: u.Record.Swapped}
		if u.Begun() {
			m.options.Plan.UndoRuns = until(u.Record)
		}
		if u.State != leftovers.UndoEnded || u.Barred {
			m.open, m.earlier.Until = &u, until(u.Record)
			if !m.options.EndUndo && !m.options.Plan.Checks { // a check ends no undo
				m.options.Plan.OpenUndo, m.options.Plan.OpenRedo = until(u.Record), u.Record.Back
			}
		}
	}
	return err
}

// listen passes notes on.
func (m *maker) listen(e event.Event) {
	if note, is := e.(event.Note); is && m.options.Note != nil {
		m.options.Note(note.Text)
	}
}

// endsOpenUndo warns of what --end-undo ends, and what of it stays.
func (m *maker) endsOpenUndo(p *plan.Plan) []plan.Risk {
	if m.open != nil && m.open.Record.Soaks() && m.open.Record.Soak.Clauses == m.alter.Clauses {
		return nil // this is its second act
	}
	if m.open == nil || !m.options.EndUndo || p.Choice.Method == plan.MethodNone || p.Choice.Method != plan.MethodShadow && !p.EndsUndo {
		return nil
	}
	record := m.open.Record
	what := plan.UndoWord(record.Back)
	risk := plan.Risk{
		Code: plan.CodeUndo, Why: "only the last change of a table can be undone; --end-undo allows that",
		What: fmt.Sprintf("this change ends the %s of the change before (%s), which is open until %s", what, ddl.Shorten(m.open.Alter), until(record)),
	}
	if len(m.open.Together) > 0 {
		risk.What += ", and with it the " + what + " of " + schema.List(m.open.Together) + ", changed in the same step"
	}
	if record.Old != "" {
		risk.Fix = fmt.Sprintf("Its old table %s stays; midstream cleanup  --old %s drops it", m.open.Old, m.table.Name.Argument())
	}
	return []plan.Risk{risk}
}

func until(u checkpoint.Undo) string { return units.Minute(u.Until) }

// findable refuses an undo of all rows if ranges of the table's key select other rows of the old table.
func findable(p *plan.Plan, old *schema.Table) error {
	columns, err := p.Columns(old)
	if err == nil && !columns.KeyChanged() {
		return nil
	}
	why := "the change altered the key, so that a range of it has other rows in the old table"
	if err != nil {
		why = err.Error()
	}
	return refusal(p, "an undo cannot look at all rows", why)
}

// changeIt is what to do if no undo leads back.
func changeIt(table schema.Name) string {
	return "Change the table by a statement: midstream run  " + schema.Shell("ALTER TABLE "+table.Quoted()+" ...")
}

func refusal(p *plan.Plan, what, why string) error {
	return refuse(p.Source.Name, what, why, changeIt(p.Source.Name)+", which makes a new table")
}

// revoked refuses a lazy undo that has become impossible.
func revoked(table schema.Name, why string) error {
	return refuse(table, "the undo is revoked: the changes since the swap cannot be followed", why,
		"Undo it by all rows, while the old table exists: midstream undo  --cold "+table.Argument())
}

// notBack is what is refused if the reason is in the tables.
const notBack = "the last change cannot be taken back"

// refuse refuses an undo.
func refuse(table schema.Name, what, why, fix string) error {
	return refuseBy(plan.CodeUndo, table, what, why, fix)
}

// refuseBy refuses a plan for one reason.
func refuseBy(code plan.Code, table schema.Name, what, why, fix string) error {
	risk := plan.Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true}
	return &plan.Refused{Table: table.String(), Blocking: []plan.Risk{risk}}
}
