package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/ddl"
	"midstream/internal/desired"
	"midstream/internal/schema"
)

// target says which table is to be changed, and how.
type target struct {
	verb     string // for which it is read
	database string
	table    string
	alter    string
	to       string
	wanted   []desired.Statement // of the files that to names
}

func (t *target) register(f *checks) {
	f.flags.StringVarP(&t.database, "database", "D", "", "the table's database, where the statement does not say it")
	f.flags.StringVar(&t.table, "table", "", "the table, with --alter; with --to, the only one of its tables that is looked at")
	f.flags.StringVar(&t.alter, "alter", "", "what follows ALTER TABLE name, in place of the statement")
	f.flags.StringVar(&t.to, "to", "", "file of CREATE TABLE statements, or folder of such *.sql files: the ALTERs that lead there are found")
}

// parse reads the statement, given whole or in flags. It is nil where files say what is wanted.
func (t *target) parse(args []string) (*ddl.Statement, error) {
	switch {
	case t.to != "" && (len(args) > 0 || t.alter != ""):
		return nil, errors.New("give the ALTER, or with --to the definitions that it shall lead to, not both")
	case t.to != "":
		return nil, t.readWanted()
	case len(args) == 0 && t.alter == "" && t.table == "":
		return nil, fmt.Errorf(`say what to change: midstream %s "ALTER TABLE shop.orders ADD COLUMN ...", or --to=schema.sql`, t.verb)
	case len(args) == 0:
		alter, err := t.parseFlags()
		if err != nil {
			return nil, err
		}
		return &ddl.Statement{Kind: ddl.KindAlter, Alter: alter}, nil
	case len(args) > 1:
		return nil, fmt.Errorf("one statement is expected, and there are %d arguments: put it in quotes", len(args))
	case t.alter != "" || t.table != "":
		return nil, errors.New("give the statement, or --table and --alter, not both")
	}
	statement, err := ddl.ParseStatement(args[0])
	if err == nil {
		err = statement.In(t.database)
	}
	if err != nil {
		return nil, err
	}
	return statement, nil
}

// readWanted reads the files of --to.
func (t *target) readWanted() error {
	var err error
	if t.wanted, err = desired.Read(t.to, t.database); err != nil || t.table == "" {
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

func (t *target) parseFlags() (*ddl.Alter, error) {
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
	return ddl.ParseClauses(name, t.alter)
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
