package cli

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
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// States of a table of --to.
const (
	stateEqual   = "equal"
	statePlanned = "planned"
	stateChecked = "checked"
	stateChanged = "changed"
	stateCreated = "created"
	stateFailed  = "failed"
	stateWaiting = "waiting"
)

// doneStates are those that each verb ends with.
var doneStates = map[string]string{"plan": statePlanned, "check": stateChecked, "run": stateChanged}

// partly is the end of a run on several tables at one of them.
type partly struct {
	err        error
	table      string
	done, rest []string
}

func (p *partly) Error() string { return p.err.Error() }
func (p *partly) Unwrap() error { return p.err }
func (p *partly) doneText() string {
	return tablesText(p.done, "has its new definition", "have their new definitions")
}
func (p *partly) restText() string { return tablesText(p.rest, "was not begun", "were not begun") }

func tablesText(names []string, one, many string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " " + one
	}
	return strings.Join(names, ", ") + " " + many
}

// checkSays reads the words of --map of several tables: the new column may stand behind its table.
func (c *change) checkSays() error {
	if c.target.to == "" || len(c.target.wanted) == 0 {
		return nil
	}
	var problems []error
	c.says = map[schema.Name]map[string]string{}
	for fresh, old := range c.options.Map {
		name, column, err := c.sayOf(fresh)
		if err != nil {
			problems = append(problems, fmt.Errorf("--map %s=%s: %w", old, fresh, err))
			continue
		}
		if c.says[name] == nil {
			c.says[name] = map[string]string{}
		}
		c.says[name][column] = old
	}
	if c.options.Key != "" && len(c.target.wanted) > 1 {
		problems = append(problems, fmt.Errorf("--key is of one table: say --table too"))
	}
	if c.options.Names != (plan.Wish{}) && len(c.target.wanted) > 1 {
		problems = append(problems, fmt.Errorf("--shadow-name and --old-name are of one table: say --table too"))
	}
	return errors.Join(problems...)
}

// sayOf reads column, table.column or database.table.column.
func (c *change) sayOf(text string) (table schema.Name, column string, err error) {
	parts, err := schema.Identifiers(text)
	if err != nil {
		return table, "", err
	}
	column, parts = parts[len(parts)-1], parts[:len(parts)-1]
	var found []schema.Name
	for _, s := range c.target.wanted {
		own := []string{s.Name.Schema, s.Name.Table}
		if len(parts) <= len(own) && slices.Equal(own[len(own)-len(parts):], parts) {
			found = append(found, s.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], column, nil
	case len(found) == 0:
		return table, "", fmt.Errorf("the files define no such table")
	}
	return table, "", fmt.Errorf("of which table? Write table.%s behind the =", column)
}

// mapFlag is the --map that says that a column continues another one.
func (c *change) mapFlag(table schema.Name, old, fresh string) string {
	text := schema.Dotted(fresh)
	same := func(s desired.Statement) bool { return s.Name.Table == table.Table && s.Name != table }
	switch {
	case len(c.target.wanted) == 1:
	case slices.ContainsFunc(c.target.wanted, same):
		text = schema.Dotted(table.Schema, table.Table, fresh)
	default:
		text = schema.Dotted(table.Table, fresh)
	}
	return "--map " + schema.Shell(old+"="+text)
}

// work is what a verb does with one ALTER.
type work = func(context.Context, *ddl.Alter, *server) (migration.Result, error)

// reaching brings tables to the definitions that files want.
type reaching struct {
	*change
	server  *server
	do      work
	finder  desired.Finder
	changes []*desired.Change
	sum     migration.Result
}

// reach looks at all tables first, so that what can be refused is refused before anything is
// begun; then it does the verb's work with one after the other.
func (c *change) reach(ctx context.Context, s *server, do work) (migration.Result, error) {
	r := reaching{change: c, server: s, do: do, finder: desired.Finder{
		Pool: s.Pool, Map: func(name schema.Name) map[string]string { return c.says[name] }, Argument: c.mapFlag,
	}}
	if err := r.finder.Sweep(ctx, c.target.wanted, desired.Stale); err != nil {
		return r.sum, unwritten(ctx, err, "")
	}
	if c.target.verb == "run" {
		for _, w := range c.target.wanted { // what an earlier run has left to do
			if _, _, err := c.finish(ctx, &ddl.Alter{Table: w.Name}, s); err != nil {
				return r.sum, err
			}
		}
	}
	if err := r.look(ctx); err != nil {
		return r.sum, err
	}
	if err := r.leaveAlone(ctx); err != nil {
		return r.sum, err
	}
	if c.target.verb == "run" {
		if err := r.planAll(ctx); err != nil {
			return r.sum, err
		}
	}
	return r.all(ctx)
}

// look finds all changes, or all reasons why there are none.
func (r *reaching) look(ctx context.Context) error {
	var refusals []*plan.Refused
	for _, s := range r.target.wanted {
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
	if err := together(refusals); err != nil {
		return err
	}
	r.changes = desired.Order(r.changes)
	for _, c := range r.changes {
		for _, note := range c.Notes {
			r.output.note(note)
		}
		r.tables = append(r.tables, record.Table{Table: c.Name().Dotted(), Place: c.Statement.Place(), State: stateWaiting})
	}
	return nil
}

// find compares one table.
func (r *reaching) find(ctx context.Context, s desired.Statement) (*desired.Change, error) {
	change, err := r.finder.Find(ctx, s)
	var refused *plan.Refused
	var left *desired.Left
	switch {
	case errors.As(err, &left):
		return nil, &coded{code: exitLeftovers, err: err, left: left.Name.String() + " may be left, an empty table",
			next: "DROP TABLE IF EXISTS " + left.Name.Quoted()}
	case errors.As(err, &refused):
		return nil, refused
	case err != nil:
		return nil, unwritten(ctx, fmt.Errorf("compare %s with %s: %w", s.Name, s.Place(), err), "")
	}
	return change, nil
}

// together makes one refusal of those of several tables.
func together(refusals []*plan.Refused) error {
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
func (r *reaching) leaveAlone(ctx context.Context) error {
	if r.target.table != "" {
		return nil
	}
	left, err := r.finder.Left(ctx, r.target.wanted)
	if err != nil {
		return unwritten(ctx, err, "")
	}
	var names []string
	for _, n := range left {
		names = append(names, n.String())
	}
	if len(names) > 0 {
		r.output.note("not in the files, and left alone: " + strings.Join(names, ", "))
	}
	return nil
}

// planAll makes every plan once, for the sake of what it refuses.
func (r *reaching) planAll(ctx context.Context) error {
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
		r.take(c)
		var refused *plan.Refused
		if _, err := r.make(ctx, c.Alter, r.server); errors.As(err, &refused) {
			refusals = append(refusals, refused)
		} else if err != nil {
			return err
		}
	}
	return together(refusals)
}

// take has the plan heed what was found.
func (r *reaching) take(c *desired.Change) {
	r.options.Map, r.risks, r.place, r.mustResume = c.Map, c.Risks, c.Statement.Place(), false
	r.options.Pace = nil // that of another table
}

// all does the verb's work with one table after the other. Run stops at the first that fails; plan tells
// what it refuses of all.
func (r *reaching) all(ctx context.Context) (migration.Result, error) {
	var refusals []*plan.Refused
	for i := range r.changes {
		state, err := r.one(ctx, i)
		r.tables[i].State = state
		var refused *plan.Refused
		if r.target.verb == "plan" && errors.As(err, &refused) {
			refusals = append(refusals, refused)
			continue
		}
		if err != nil {
			return r.sum, r.partly(i, err)
		}
	}
	if err := together(refusals); err != nil {
		return r.sum, err
	}
	if r.output.quiet || len(r.tables) > 1 {
		r.tell("%s\n", r.summary())
	}
	return r.sum, nil
}

// partly says which tables are done, and which are not begun.
func (r *reaching) partly(at int, err error) error {
	if len(r.tables) == 1 || r.target.verb != "run" {
		return err
	}
	p := &partly{err: err, table: r.tables[at].Table}
	for i, t := range r.tables {
		switch {
		case i < at:
			p.done = append(p.done, t.Table)
		case i > at:
			p.rest = append(p.rest, t.Table)
		}
	}
	return p
}

// one does the verb's work with one table.
func (r *reaching) one(ctx context.Context, i int) (state string, err error) {
	if ctx.Err() != nil {
		return stateWaiting, unwritten(ctx, context.Cause(ctx), "")
	}
	began := time.Now()
	r.app.stands("planning", r.tables[i].Table+" on "+r.server.Address)
	c := r.changes[i]
	if i > 0 && r.target.verb == "run" { // time has gone by
		if c, err = r.find(ctx, c.Statement); err != nil {
			return stateFailed, err
		}
		r.changes[i] = c
	}
	switch {
	case c.Table == nil:
		return r.create(ctx, c)
	case c.Alter == nil:
		r.planned(c, "none", "the table has this definition already")
		r.sum.Swapped = r.target.verb == "run"
		return stateEqual, nil
	}
	r.take(c)
	result, err := r.do(ctx, c.Alter, r.server)
	r.add(result)
	r.tables[i].Method, r.tables[i].Old, r.tables[i].Elapsed = string(result.Method), result.Old, record.MSOf(time.Since(began))
	if err != nil {
		return stateFailed, err
	}
	return doneStates[r.target.verb], nil
}

// create makes a table that is not there; a plan tells so.
func (r *reaching) create(ctx context.Context, c *desired.Change) (state string, err error) {
	r.planned(c, "create", "there is no such table")
	if r.target.verb != "run" {
		return doneStates[r.target.verb], nil
	}
	statement, err := ddl.ParseStatement(c.Statement.Text)
	if err == nil {
		err = statement.In(c.Statement.Name.Schema)
	}
	if err != nil {
		return stateFailed, unwritten(ctx, fmt.Errorf("%s: %w", c.Statement.Place(), err), "")
	}
	p, err := r.makeTables(ctx, statement, r.server, "")
	if err != nil {
		return stateFailed, err
	}
	result, err := r.carryOutTables(ctx, p, r.server)
	r.add(result)
	if err != nil {
		return stateFailed, err
	}
	if !r.output.json && !r.output.quiet {
		r.tell("Done: %s is created.\n", c.Name())
	}
	return stateCreated, nil
}

// planned tells the plan of a table that no ALTER is needed for.
func (r *reaching) planned(c *desired.Change, method, why string) {
	place := c.Statement.Place()
	if r.output.json {
		record := record.Plan{
			Head:          record.HeadOf(record.NamePlan, time.Now()),
			Table:         c.Name().Dotted(),
			Place:         place,
			Method:        method,
			Why:           why,
			Others:        []record.Rejected{},
			ServerAddress: r.server.Address,
			ServerVersion: c.Server.String(),
			KeyColumns:    []string{},
			Prediction:    record.PredictionOf(plan.Prediction{}),
			Risks:         []record.Risk{},
		}
		if c.Table == nil {
			record.Create = c.Statement.Text
		}
		(&jsonLines{out: r.app.Stdout}).write(record)
		return
	}
	r.output.text("%s on %s (%s)\n  %-9s %s (%s)\n", c.Name(), r.server.Address, c.Server, "method", method+": "+why, place)
}

// tell prints for people, even for those who want quiet.
func (r *reaching) tell(format string, args ...any) {
	if !r.output.json {
		fmt.Fprintf(r.app.Stdout, format, escape.Args(args...)...)
	}
}

// summary counts the tables by what has become of them.
func (r *reaching) summary() string {
	var parts []string
	for _, s := range []struct{ state, text string }{
		{stateChanged, "changed"}, {stateCreated, "created"}, {statePlanned, "to be changed or created"}, {stateChecked, "checked"},
		{stateEqual, "with this definition already"},
	} {
		n := 0
		for _, t := range r.tables {
			if t.State == s.state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	return fmt.Sprintf("%s: %s", humanize.Plural(len(r.tables), "table"), strings.Join(parts, ", "))
}

// add sums up what runs did; of what is no number the last counts.
func (r *reaching) add(x migration.Result) {
	s := &r.sum
	s.Elapsed, s.Prescan, s.Scanned = s.Elapsed+x.Elapsed, s.Prescan+x.Prescan, s.Scanned+x.Scanned
	s.Copy, s.Index, s.Verify, s.Native = s.Copy+x.Copy, s.Index+x.Index, s.Verify+x.Verify, s.Native+x.Native
	s.RowsCopied, s.Captured = s.RowsCopied+x.RowsCopied, s.Captured+x.Captured
	s.Applied, s.Dropped = s.Applied+x.Applied, s.Dropped+x.Dropped
	s.Merged, s.Retries, s.Attempts, s.LockHeld = s.Merged+x.Merged, s.Retries+x.Retries, s.Attempts+x.Attempts, s.LockHeld+x.LockHeld
	s.Drained, s.BinlogRead = s.Drained+x.Drained, s.BinlogRead+x.BinlogRead
	s.Verified, s.Repaired = s.Verified+x.Verified, s.Repaired+x.Repaired
	s.Disk, s.Redo, s.Binlog = max(s.Disk, x.Disk), s.Redo+x.Redo, s.Binlog+x.Binlog // one after the other
	s.Method, s.Old, s.Swapped, s.Resumed = x.Method, x.Old, x.Swapped, s.Resumed || x.Resumed
}
