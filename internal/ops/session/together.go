package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"midstream/internal/engine/closure"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/together"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// Together is what makes the changes of several tables, which are swapped in one step.
type Together struct {
	// Statements are one for each table, or Changes with --to. Names are the tables, and alters what changes them.
	Statements []string
	Changes    []*desired.Change
	Names      []schema.Name
	alters     []*ddl.Alter
	// End is the state that a table ends with, as of Reach.
	End  string
	Note func(text string)
	// Database completes the names of statements and flags. Complete statements need none.
	Database string
	// verb is what the statements were given for, and needed is what the foreign keys need as well; nil for nothing.
	verb   string
	needed *record.Needed
	// Tables are what has become of each table.
	Tables []record.Table
	group  *together.Group
	swap   swapOfAll
	// wishes are those of each table, or with --to of each of the files, which are wanted.
	wishes []Wishes
	wanted []desired.Statement
}

// ReadTogether reads the statements and the wishes, and returns all that is wrong with them.
func ReadTogether(given Target, args []string, wishes Wishes) (t *Together, problems []error) {
	database := given.Database
	t = &Together{Statements: Statements(args), Database: database, verb: given.Verb}
	if given.Table != "" || given.Alter != "" {
		problems = append(problems, errors.New("--together takes statements or --to, and not --table and --alter"))
	}
	if given.Scratch != "" {
		problems = append(problems, errors.New("--together excludes --scratch-defaults-file: the tables of a group are asked about on their server"))
	}
	alone := len(t.Statements) == 0
	for _, text := range t.Statements {
		target := Target{Verb: given.Verb, Database: database}
		statement, err := target.Parse([]string{text})
		switch {
		case err != nil:
			problems = append(problems, err)
		case statement.Alter == nil:
			problems = append(problems, fmt.Errorf("--together takes ALTER TABLE only, and not %s", statement.Kind))
		case slices.Contains(t.Names, statement.Alter.Table):
			problems = append(problems, fmt.Errorf("%s is altered twice: put the clauses into one ALTER TABLE", statement.Alter.Table))
		default:
			t.add(statement.Alter)
			alone = len(t.Statements) == 1 && !closure.MayNeed(statement.Alter)
		}
	}
	if alone {
		problems = append([]error{errAlone}, problems...)
	}
	t.regroup()
	var wrong []error
	if t.wishes, wrong = wishes.ByTable(database, t.Names); len(t.Names) == len(t.Statements) { // else a table may be missing
		problems = append(problems, wrong...)
	}
	return t, problems
}

// errAlone is a group of one table.
var errAlone = errors.New(`--together needs several statements: "ALTER TABLE shop.orders ...; ALTER TABLE shop.items ..."`)

// distinct returns which tables are one on a server that ignores the case of names. err is an *Error.
func (t *Together) distinct(ctx context.Context, s *Server) (problem, err error) {
	anyCase, err := s.ignoresCase(ctx)
	if err != nil || !anyCase {
		return nil, err
	}
	for i, name := range t.Names {
		for _, before := range t.Names[:i] {
			if strings.EqualFold(before.Dotted(), name.Dotted()) {
				return fmt.Errorf("%s and %s are one table on this server: put the clauses into one ALTER TABLE", before, name), nil
			}
		}
	}
	return nil, nil
}

// NotTogether returns which of the flags are for one table, or for another kind of change. warm means that a process is to follow it.
func NotTogether(flags *pflag.FlagSet, warm bool) (problems []error) {
	if warm {
		problems = append(problems, errors.New("--together excludes --undo-mode=warm: no process follows several tables that are taken back in one step"))
	}
	for _, name := range []string{"listen", "method", "ask"} {
		if flags.Changed(name) {
			problems = append(problems, fmt.Errorf("--together and --%s exclude each other", name))
		}
	}
	return problems
}

// ErrGroupUndo is why the queue of midstream serve takes no group with an undo.
var ErrGroupUndo = errors.New("--together excludes --undo in midstream serve, whose undos are for one table: midstream run --together --undo keeps one")

// regroup makes the group of the tables.
func (t *Together) regroup() { t.group = together.New(t.Names) }

func (t *Together) add(alter *ddl.Alter) {
	t.Names, t.alters = append(t.Names, alter.Table), append(t.alters, alter)
	t.Tables = append(t.Tables, record.Table{Table: alter.Table.Dotted(), State: StateWaiting})
}

// Want reads the wishes for the tables of the files of --to, and returns what is wrong with them. Those of --map are not among them.
func (t *Together) Want(database string, wanted []desired.Statement, wishes Wishes) error {
	var names []schema.Name
	for _, s := range wanted {
		names = append(names, s.Name)
	}
	var problems []error
	_, others := wishes.apart("map")
	t.wishes, problems = others.ByTable(database, names)
	t.wanted = wanted
	return errors.Join(problems...)
}

// take makes a group of the changes that have an ALTER. If it is one, it is none.
func (t *Together) take(changes []*desired.Change) {
	for _, c := range changes {
		if c.Alter != nil {
			t.Changes = append(t.Changes, c)
			t.add(c.Alter)
			continue
		}
		if at := t.at(c.Statement.Name); at >= 0 && len(t.wishes[at].given) > 0 {
			t.Note(fmt.Sprintf("--%s has no effect on %s, which no ALTER changes", t.wishes[at].given[0].flag, c.Name()))
		}
	}
	t.regroup()
}

func (t *Together) at(wanted schema.Name) int {
	return slices.IndexFunc(t.wanted, func(s desired.Statement) bool { return s.Name == wanted })
}

// Wish reads the wishes of a change of the files of --to, and the others of the group. t may be nil.
func (t *Together) Wish(c *desired.Change, options *plan.Options) {
	options.Together = nil
	if t == nil {
		return
	}
	options.Key, options.Names, options.Filter, options.Into.Name = "", plan.Wish{}, "", schema.Name{} // of another table
	_ = t.wishes[t.at(c.Statement.Name)].Read(options)                                                 // Want has returned what is wrong
	if at := slices.Index(t.Names, c.Name()); at >= 0 && len(t.Names) > 1 {
		options.Method, options.Together = plan.MethodShadow, t.Others(at)
	}
}

// WishesOf are the wishes of a member of a group of statements.
func (t *Together) WishesOf(i int) Wishes { return t.wishes[i] }

// Member is the place of a run.
func (t *Together) Member(i int) together.Member { return t.group.Member(i) }

// Others are the changes of the others.
func (t *Together) Others(i int) []plan.Partner {
	var others []plan.Partner
	for n, alter := range t.alters {
		if n != i {
			others = append(others, plan.Partner{Alter: alter})
		}
	}
	return others
}

// Run does work for each table, side by side if the tables are changed. It returns the sum of the results, and the error of the table
// that has ended the work on the others, or all that is refused.
func (t *Together) Run(
	ctx context.Context, work func(ctx context.Context, i int) (migration.Result, error),
) (sum migration.Result, err error) {
	results, errs := make([]migration.Result, len(t.Names)), make([]error, len(t.Names))
	one := func(ctx context.Context, i int) (err error) {
		results[i], err = work(ctx, i)
		return err
	}
	if Works(t.End) {
		errs = t.group.Run(ctx, one)
	} else {
		for i := range t.Names {
			errs[i] = one(ctx, i)
		}
	}
	var refusals []*plan.Refused
	for i, result := range results {
		addMember(&sum, result)
		table := &t.Tables[i]
		fill(table, result)
		table.State = t.state(errs[i])
		var refused *plan.Refused
		switch {
		case errs[i] == nil:
		case table.State == StateWaiting || err != nil: // the error is that of another table, or of all
			t.noteLeft(table.Table, errs[i])
		case errors.As(errs[i], &refused):
			if len(t.Changes) == 0 {
				refused = ofMember(refused, t.Names[i])
			}
			refusals = append(refusals, refused)
		case ctx.Err() != nil:
			err = &Partly{Err: errs[i], Table: schema.List(t.Names)}
		default:
			err = &Partly{Err: errs[i], Table: table.Table}
		}
	}
	if refused := Refusals(refusals); refused != nil {
		err = refused
	}
	if at := slices.IndexFunc(errs, func(err error) bool { return err != nil }); at >= 0 && err == nil { // each blames another one
		err = &Partly{Err: errs[at], Table: t.Tables[at].Table}
	}
	return sum, err
}

// addMember adds the result of a run of a group, whose swap is that of all, and whose shadows exist side by side.
func addMember(s *migration.Result, x migration.Result) {
	before := *s
	Add(s, x)
	s.Elapsed, s.Attempts, s.LockHeld = max(before.Elapsed, x.Elapsed), max(before.Attempts, x.Attempts), max(before.LockHeld, x.LockHeld)
	s.Disk, s.Old, s.Swapped = before.Disk+x.Disk, joined(before.Old, x.Old), before.Swapped || x.Swapped
	if s.Undo == nil { // it names the others
		s.Undo = x.Undo
	}
	if x.Compared.IsZero() || !before.Compared.IsZero() && before.Compared.Before(x.Compared) {
		s.Compared = before.Compared // all are compared since then
	}
}

// state is what has become of a table.
func (t *Together) state(err error) string {
	var ended *together.Ended
	switch {
	case err == nil:
		return t.End
	case errors.As(err, &ended):
		return StateWaiting
	}
	return StateFailed
}

// noteLeft notes what is left of a table that is not the one of the error.
func (t *Together) noteLeft(table string, err error) {
	var failed *failure.Failure
	if errors.As(err, &failed) && failed.Left != "" {
		text := table + ": " + failed.Left
		if strings.Contains(failed.Next, "midstream cleanup") {
			text += " To remove that work: midstream cleanup  " + schema.NameOf(table).Argument()
		}
		t.Note(text)
	}
}
