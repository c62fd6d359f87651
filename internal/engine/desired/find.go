package desired

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Change is what brings a table to the definition that a statement wants.
type Change struct {
	Statement Statement
	Server    plan.Version
	// Table is nil if it does not exist yet, and the statement is to be executed.
	Table *schema.Table
	// Alter is nil if nothing is to be changed.
	Alter *ddl.Alter
	// Map has every new column of the altered table, and every column with another name.
	Map map[string]string
	// Risks are what the ALTER loses, and Notes what is not compared.
	Risks []plan.Risk
	Notes []string

	parents []schema.Name // tables of its foreign keys
}

// RefersTo reports whether the wanted table has a foreign key that refers to one of the tables.
func (c *Change) RefersTo(tables []schema.Name) bool {
	return slices.ContainsFunc(c.parents, func(parent schema.Name) bool { return slices.Contains(tables, parent) })
}

// Finder compares statements with the tables of a server.
type Finder struct {
	Pool *dbconn.Pool
	// Map is the operator's map for a statement's table: new column to the old column that it
	// continues, "" if it is new.
	Map func(schema.Name) map[string]string
	// Argument is the flag that declares this.
	Argument func(table schema.Name, old, fresh string) string
}

// Find compares one statement with the existing table. It writes: the wanted table exists for a
// moment, empty, marked and under a name of the pool's. The error is a *plan.Refused if the
// statement can't be compared, or if no ALTER can be found.
func (f *Finder) Find(ctx context.Context, s Statement) (*Change, error) {
	table, err := f.load(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	server, err := f.server(ctx)
	if err != nil {
		return nil, err
	}
	want, notes, err := f.wanted(ctx, s, server)
	if err != nil {
		return nil, err
	}
	c := &Change{Statement: s, Server: server.version, Table: table, Notes: notes}
	if table == nil {
		for _, k := range want.foreign {
			c.parents = append(c.parents, k.parent)
		}
		return c, nil
	}
	d := differ{have: sideOf(table), want: want, says: f.Map(s.Name), fold: server.fold, version: server.version,
		argument: func(old, fresh string) string { return f.Argument(s.Name, old, fresh) }}
	clauses := d.diff()
	if len(d.reasons) > 0 {
		return nil, &plan.Refused{Table: table.Name.String(), Blocking: d.reasons}
	}
	c.Notes = append(c.Notes, d.notes...)
	if clauses == "" {
		return c, nil
	}
	c.Map, c.Risks = d.continues, d.risks
	c.Alter, err = ddl.ParseClauses(table.Name, clauses)
	if err != nil {
		return nil, fmt.Errorf("%s: read the ALTER that was found, %s: %w", s.Place(), clauses, err)
	}
	return c, nil
}

// load reads the existing table; nil if there is none.
func (f *Finder) load(ctx context.Context, name schema.Name) (*schema.Table, error) {
	table, err := schema.Load(ctx, f.Pool.DB(), name)
	if !errors.Is(err, schema.ErrNotFound) {
		return table, err
	}
	var n int // the account may see only part of it
	if failed := f.Pool.DB().QueryRowContext(
		ctx,
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
		name.Schema,
		name.Table,
	).Scan(
		&n,
	); failed != nil ||
		n > 0 {
		return nil, errors.Join(err, failed)
	}
	return nil, nil
}

// server is what the comparison needs to know of the server.
type server struct {
	version plan.Version
	fold    bool // table names ignore letter case
}

func (f *Finder) server(ctx context.Context) (s server, err error) {
	var text string
	var names int
	if err = f.Pool.DB().QueryRowContext(ctx, "SELECT @@version, @@lower_case_table_names").Scan(&text, &names); err != nil {
		return s, fmt.Errorf("look at the server: %w", err)
	}
	s.version, err = plan.ParseVersion(text)
	s.fold = names != 0
	return s, err
}

// Left is the error of a scratch table that could not be dropped.
type Left struct {
	Name schema.Name
	Err  error
}

func (l *Left) Error() string {
	return fmt.Sprintf("drop %s, which was created for the comparison: %v", l.Name, l.Err)
}
func (l *Left) Unwrap() error { return l.Err }

// suffix ends the names of scratch tables.
const suffix = "_wanted"

// ScratchName is the name of the wanted table while Find reads it.
func ScratchName(pool *dbconn.Pool, table schema.Name) schema.Name {
	return pool.CloneOf(table, suffix)
}

// wanted makes the server create the table of the statement, and reads it as the server shows it.
func (f *Finder) wanted(ctx context.Context, s Statement, at server) (want side, notes []string, err error) {
	name := ScratchName(f.Pool, s.Name)
	checks := noCheck
	switch {
	case at.version.MariaDB:
		checks = tableCheck
	case at.version.AtLeast(8, 0, 16):
		checks = everyCheck
	}
	made, err := s.rewrite(name, schema.MarkFor(schema.CloneKind, s.Name), checks)
	if err != nil {
		return want, nil, refused(s, err.Error(), "", "")
	}
	if len(made.checks) > 0 && checks == noCheck {
		notes = append(notes, fmt.Sprintf("%s: %s passes over CHECK constraints", s.Name, at.version))
	}
	session, err := f.Pool.Session(ctx, f.Pool.AsTheServer(true)...)
	if err != nil {
		return want, nil, err
	}
	defer session.Close()
	drop := "DROP TABLE IF EXISTS " + name.Quoted()
	// An account that may not drop the table must not create it.
	if _, err := session.Exec(ctx, drop); err != nil {
		return want, nil, s.notCreated(err)
	}
	defer func() {
		if failed := f.remove(context.WithoutCancel(ctx), session, drop); failed != nil {
			err = errors.Join(err, &Left{Name: name, Err: failed})
		}
	}()
	if _, err := session.Exec(ctx, made.text); err != nil {
		return want, nil, s.notCreated(err)
	}
	table, err := schema.Load(ctx, f.Pool.DB(), name)
	if err != nil {
		return want, nil, err
	}
	want = side{table: table, comment: made.comment, checks: slices.Clone(table.Checks)}
	for i, c := range want.checks {
		for _, k := range made.checks {
			if strings.EqualFold(k.alias, c.Name) {
				want.checks[i].Name = k.name
			}
		}
	}
	for _, text := range made.foreign {
		want.foreign = append(want.foreign, readForeign(text, s.Name))
	}
	return want, notes, nil
}

// removal bounds the time for dropping a scratch table.
const removal = 30 * time.Second

// remove drops the scratch table, in another session if this one can't.
func (f *Finder) remove(ctx context.Context, session *dbconn.Session, drop string) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	if _, err := session.Exec(ctx, drop); err == nil {
		return nil
	}
	session.Close()
	_, err := f.Pool.DB().ExecContext(ctx, drop)
	return err
}

// CodeFile is the code of a statement that the server refuses.
const CodeFile plan.Code = "file"

// refused is the refusal of a statement.
func refused(s Statement, what, why, fix string) error {
	return &plan.Refused{
		Table:    s.Name.String(),
		Blocking: []plan.Risk{{Code: CodeFile, What: s.Place() + ": " + what, Why: why, Fix: fix, Blocking: true}},
	}
}

// lineTold finds the line of a mistake in the server's message, which is the only place that has
// it.
var lineTold = regexp.MustCompile(` at line (\d+)$`)

// notCreated returns why the wanted table could not be created.
func (s *Statement) notCreated(err error) error {
	switch {
	case dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) || dbconn.Contended(err) || dbconn.Exhausted(err) || dbconn.Unwilling(err):
		return fmt.Errorf("create the table of %s for the comparison: %w", s.Place(), err)
	case dbconn.Denied(err):
		return &plan.Refused{Table: s.Name.String(), Blocking: []plan.Risk{
			{
				Code: plan.CodeGrants,
				What: dbconn.Message(err),
				Why:  "the run creates an empty table with the wanted definition, compares it with the real one, and drops it",
				Fix: fmt.Sprintf(
					"Give the account CREATE, DROP and SELECT on %s.*; midstream plan lists what else a run needs",
					schema.Quote(s.Name.Schema),
				),
				Blocking: true,
			},
		}}
	}
	place, message := *s, dbconn.Message(err)
	if told := lineTold.FindStringSubmatch(message); told != nil && dbconn.SyntaxError(err) {
		line, _ := strconv.Atoi(told[1])
		place.Line += line - 1
		message = strings.TrimSuffix(message, told[0])
	}
	return refused(place, message, "the server refuses the statement", "")
}
