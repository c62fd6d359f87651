package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// target says which table is to be changed, and how.
type target struct {
	verb     string // for which it is read
	database string
	table    string
	alter    string
	to       string
	wanted   []desired.Statement // of the files that to names
	sentence *string             // the statement, if it was given as one
}

func (t *target) register(f *checks) {
	f.flags.StringVarP(&t.database, "database", "D", "", "the table's database, if the statement lacks it")
	f.flags.StringVar(&t.table, "table", "", "the table, with --alter; with --to, the only one of its tables that is looked at")
	f.flags.StringVar(&t.alter, "alter", "", "what follows ALTER TABLE name, in place of the statement")
	f.flags.StringVar(
		&t.to, "to", "",
		"file of CREATE TABLE statements, or folder of such *.sql files: the ALTERs that lead there are found",
	)
}

// parse reads the statement, given as one or in flags. It is nil where files say what is wanted.
// The server is not known yet: which tables the statement names is known, and read says the rest.
func (t *target) parse(args []string) (*ddl.Statement, error) {
	switch {
	case t.to != "" && (len(args) > 0 || t.alter != ""):
		return nil, errors.New("give the ALTER, or with --to the definitions that it shall lead to, not both")
	case t.to != "":
		return t.guess()
	case len(args) == 0 && t.alter == "" && t.table == "":
		return nil, fmt.Errorf(`say what to change: midstream %s "ALTER TABLE shop.orders ADD COLUMN ...", or --to=schema.sql`, t.verb)
	case len(args) == 0:
		return t.guess()
	case len(args) > 1:
		return nil, fmt.Errorf("one statement is expected, and there are %d arguments: put it in quotes", len(args))
	case t.alter != "" || t.table != "":
		return nil, errors.New("give the statement, or --table and --alter, not both")
	}
	t.sentence = &args[0]
	return t.guess()
}

// guess reads the statement in a dialect in which it can be read.
func (t *target) guess() (statement *ddl.Statement, err error) {
	err = ddl.Guess(func(d token.Dialect) (err error) {
		statement, err = t.read(d)
		return err
	})
	return statement, err
}

// read reads the statement as a server of the dialect does.
func (t *target) read(d token.Dialect) (*ddl.Statement, error) {
	switch {
	case t.to != "":
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
		err = statement.In(t.database)
	}
	if err != nil {
		return nil, err
	}
	return statement, nil
}

// readAt reads the statement as the server does that was reached. guessed is what was read before.
func (t *target) readAt(ctx context.Context, s *server, guessed *ddl.Statement) (*ddl.Statement, error) {
	dialect, err := facts.ReadDialect(ctx, s.Pool.DB())
	if err != nil {
		return nil, unwritten(ctx, err, "")
	}
	before := t.names(guessed)
	statement, err := t.read(dialect)
	risk := plan.Risk{
		Code:     plan.CodeUnparsed,
		Blocking: true,
		Why:      "a run reads a statement as the server does, by the server's version and its global sql_mode",
	}
	switch {
	case err != nil:
		risk.What = "the statement can't be read: " + err.Error()
	case statement != nil && statement.Kind != guessed.Kind, !slices.Equal(before, t.names(statement)):
		risk.What, risk.Fix = "the server reads another table than one without that sql_mode or version would", "Name the table bare or in backticks, outside of comments"
	default:
		return statement, nil
	}
	return nil, &plan.Refused{Table: objectOf(guessed, s), Blocking: []plan.Risk{risk}}
}

// names are the tables of the statement, or of the files.
func (t *target) names(statement *ddl.Statement) (names []schema.Name) {
	if statement != nil {
		return statement.Tables()
	}
	for _, s := range t.wanted {
		names = append(names, s.Name)
	}
	return names
}

// readWanted reads the files of --to.
func (t *target) readWanted(d token.Dialect) error {
	var err error
	if t.wanted, err = desired.Read(d, t.to, t.database); err != nil || t.table == "" {
		return err
	}
	name, err := schema.ParseName(t.database, t.table)
	if err != nil {
		return err
	}
	others := func(s desired.Statement) bool { return s.Name != name }
	if t.wanted = slices.DeleteFunc(t.wanted, others); len(t.wanted) == 0 {
		return fmt.Errorf("%s has no CREATE TABLE of %s", t.to, name)
	}
	return nil
}

func (t *target) parseFlags(d token.Dialect) (*ddl.Alter, error) {
	var problems []error
	if t.alter == "" {
		problems = append(problems, errors.New("--table needs --alter"))
	}
	if t.table == "" {
		problems = append(problems, errors.New("--alter needs --table"))
	}
	problems = append(problems, onlyClauses(t.alter))
	name, err := schema.ParseName(t.database, t.table)
	if t.table != "" {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return ddl.ParseClausesIn(d, name, t.alter)
}

// onlyClauses says that --alter has a whole statement.
func onlyClauses(alter string) error {
	words := strings.Fields(alter)
	if len(words) > 1 && strings.EqualFold(words[0], "ALTER") && strings.EqualFold(words[1], "TABLE") {
		return errors.New("--alter is what follows ALTER TABLE name: leave these words out")
	}
	return nil
}

// oneTable reads the arguments of a verb that is for one table.
func oneTable(a *app, database string, args []string, verb string) (schema.Name, error) {
	switch {
	case len(args) == 1:
		return schema.ParseName(database, args[0])
	case a.password.detached(args):
		return schema.Name{}, errDetached
	}
	return schema.Name{}, fmt.Errorf("say one table: %s database.table", verb)
}
