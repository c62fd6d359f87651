package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/wholetables"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Target says which table is to be changed, and how.
type Target struct {
	Verb     string // for which it is read
	Database string
	Table    string
	Alter    string
	To       string
	Scratch  string              // the option file of the scratch server; "" for none
	Wanted   []desired.Statement // of the files that To names
	LeftOut  []string            // statements of these files that define no table
	sentence *string             // the statement, if it was given as one
	// Undo means that the only argument is the table whose last change is to be taken back: the server has the statement.
	Undo bool
	// swapped is when the change was swapped that is to be taken back; zero for any.
	swapped time.Time
}

// Parse reads the statement, given as one or in flags. It is nil where files say what is wanted.
// The server is not known yet: which tables the statement names is known, and ReadAt says the rest.
func (t *Target) Parse(args []string) (*ddl.Statement, error) {
	switch {
	case t.Scratch != "" && t.To != "":
		return nil, errors.New("--to excludes --scratch-defaults-file: the files are compared on the server of the tables")
	case t.Undo:
		if len(args) != 1 {
			return nil, flagMeant(args, fmt.Errorf("name one table: midstream %s database.table", t.Verb))
		}
		name, err := schema.ParseName(t.Database, args[0])
		err = flagMeant(args, err)
		if s, no := (&Target{Verb: t.Verb, Database: t.Database, sentence: &args[0]}).guess(); no == nil {
			err = fmt.Errorf("midstream %s takes the name of a table, and no statement: midstream %[1]s %s", t.Verb, s.Tables()[0].Argument())
		}
		return &ddl.Statement{Kind: ddl.KindAlter, Alter: &ddl.Alter{Table: name}}, err
	case t.To != "" && (len(args) > 0 || t.Alter != ""):
		return nil, errors.New("use either a statement or --to, not both")
	case t.To != "":
		return t.guess()
	case len(args) == 0 && t.Alter == "" && t.Table == "":
		return nil, fmt.Errorf(`name the change: midstream %s "ALTER TABLE shop.orders ADD COLUMN ...", or --to=schema.sql`, t.Verb)
	case len(args) == 0:
		return t.guess()
	case len(args) > 1:
		return nil, fmt.Errorf("expected one statement, got %d arguments; put the statement in quotes", len(args))
	case t.Alter != "" || t.Table != "":
		return nil, errors.New("use either a statement or --table and --alter, not both")
	}
	t.sentence = &args[0]
	return t.guess()
}

// flagMeant adds to an error of midstream undo that its first argument is the name of a flag.
func flagMeant(args []string, err error) error {
	if err == nil || len(args) == 0 {
		return err
	}
	name, _, _ := strings.Cut(args[0], "=")
	if !slices.Contains([]string{"list", "plan", "end", "extend", "hold", "cold", "lazy", "merge", "park"}, name) {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, args[0])
}

// guess reads the statement in a dialect in which it can be read.
func (t *Target) guess() (statement *ddl.Statement, err error) {
	err = ddl.Guess(func(d token.Dialect) (err error) {
		statement, err = t.read(d)
		return err
	})
	return statement, err
}

// read reads the statement as a server of the dialect does.
func (t *Target) read(d token.Dialect) (*ddl.Statement, error) {
	switch {
	case t.To != "":
		return nil, t.readWanted(d)
	case t.sentence == nil:
		alter, err := t.parseFlags(d)
		if err != nil {
			return nil, err
		}
		return &ddl.Statement{Kind: ddl.KindAlter, Alter: alter}, nil
	}
	statement, err := ddl.ParseStatementIn(d, *t.sentence)
	if err == nil {
		err = statement.In(t.Database)
	}
	if err == nil && t.Scratch != "" && statement.Kind != ddl.KindAlter {
		err = fmt.Errorf("--scratch-defaults-file is for ALTER TABLE: a %s is asked about on the server of its tables", statement.Kind)
	} else if err == nil && t.Scratch != "" {
		_, err = t.scratchConfig()
	}
	if err != nil {
		return nil, err
	}
	return statement, nil
}

// ReadAt reads the statement as the server does that was reached. guessed is what was read before. The error is
// a *plan.Refused or an *Error.
func (t *Target) ReadAt(ctx context.Context, s *Server, guessed *ddl.Statement) (*ddl.Statement, error) {
	if t.Undo {
		return t.lastChange(ctx, s, guessed)
	}
	dialect, err := facts.ReadDialect(ctx, s.Pool.DB())
	if err != nil {
		return nil, unread(err)
	}
	before := t.Names(guessed)
	statement, err := t.read(dialect)
	risk := plan.Risk{
		Code:     plan.CodeUnparsed,
		Blocking: true,
		Why:      "a run reads a statement as the server does, with the server's version and global sql_mode",
	}
	switch {
	case err != nil:
		risk.What = "cannot read the statement: " + err.Error()
	case statement != nil && statement.Kind != guessed.Kind, !slices.Equal(before, t.Names(statement)):
		risk.What, risk.Fix = "with its version and sql_mode, the server reads another table name", "Write the table's name bare or in backticks, outside of comments"
	default:
		return statement, nil
	}
	return nil, &plan.Refused{Table: ObjectOf(guessed, s), Blocking: []plan.Risk{risk}}
}

// OnlySwapped has an undo take back only the change that was swapped at a time.
func (t *Target) OnlySwapped(text string) (err error) {
	t.swapped, err = time.Parse(time.RFC3339Nano, text)
	return err
}

// lastChange is the last statement on the complete table, if that is to be taken back, and otherwise what was read before.
func (t *Target) lastChange(ctx context.Context, s *Server, guessed *ddl.Statement) (*ddl.Statement, error) {
	guessed.Alter.Table = leftovers.Renamed(ctx, s.Pool, guessed.Alter.Table)
	saved, err := wholetables.Record(ctx, s.Pool, guessed.Alter.Table)
	if err == nil {
		saved, err = wholetables.Withdrawn(ctx, s.Pool, guessed.Alter.Table, saved)
	}
	if err = planning.Denied(ctx, s.Planning(), guessed.Alter.Table, err); errors.Is(err, plan.ErrRefused) {
		return nil, err
	}
	if err != nil {
		return nil, unread(err)
	}
	if !t.swapped.IsZero() && (saved == nil || !saved.Undo.Swapped.Equal(t.swapped)) {
		return nil, unread(fmt.Errorf("%w: the change that was swapped at %s is not the last one", leftovers.ErrNoUndo, t.swapped.Format(time.RFC3339)))
	}
	if saved == nil || saved.Undo.Ledger == nil {
		return guessed, nil
	}
	statement, err := ddl.ParseStatement(saved.Undo.Ledger.Statement)
	if err != nil {
		return nil, unread(err)
	}
	return statement, nil
}

// Names are the tables of the statement, or of the files.
func (t *Target) Names(statement *ddl.Statement) (names []schema.Name) {
	if statement != nil {
		return statement.Tables()
	}
	for _, s := range t.Wanted {
		names = append(names, s.Name)
	}
	return names
}

// readWanted reads the files of --to.
func (t *Target) readWanted(d token.Dialect) error {
	var err error
	if t.Wanted, t.LeftOut, err = desired.ReadDump(d, t.To, t.Database); err != nil || t.Table == "" {
		return err
	}
	name, err := schema.ParseName(t.Database, t.Table)
	if err != nil {
		return err
	}
	others := func(s desired.Statement) bool { return s.Name != name }
	if t.Wanted = slices.DeleteFunc(t.Wanted, others); len(t.Wanted) == 0 {
		return fmt.Errorf("%s has no CREATE TABLE of %s", t.To, name)
	}
	return nil
}

func (t *Target) parseFlags(d token.Dialect) (*ddl.Alter, error) {
	var problems []error
	if t.Alter == "" {
		problems = append(problems, errors.New("--table needs --alter"))
	}
	if t.Table == "" {
		problems = append(problems, errors.New("--alter needs --table"))
	}
	problems = append(problems, OnlyClauses(t.Alter))
	name, err := schema.ParseName(t.Database, t.Table)
	if t.Table != "" {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return ddl.ParseClausesIn(d, name, t.Alter)
}

// Statements are the statements of several arguments: a semicolon ends one.
func Statements(args []string) (all []string) {
	for _, text := range args {
		tokens, _ := token.Split(text)
		start := 0
		for i, t := range tokens {
			if t.Is(";") {
				all, start = append(all, text[start:t.Start]), t.Start+1
			}
			if i == len(tokens)-1 && start < t.End {
				all = append(all, text[start:])
			}
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// OnlyClauses says that --alter has a whole statement.
func OnlyClauses(alter string) error {
	words := strings.Fields(alter)
	if len(words) > 1 && strings.EqualFold(words[0], "ALTER") && strings.EqualFold(words[1], "TABLE") {
		return errors.New("--alter has only the clauses: leave out ALTER TABLE and the name")
	}
	return nil
}

// ObjectOf is what a statement is about, for people; of the files of --to it is the server.
func ObjectOf(statement *ddl.Statement, s *Server) string {
	if statement == nil {
		return s.Address
	}
	return schema.List(statement.Tables()) + " on " + s.Address
}
