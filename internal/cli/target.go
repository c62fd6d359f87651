package cli

import (
	"fmt"

	"midstream/internal/cli/flags"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
	"midstream/internal/ops/session"
)

// registerTarget adds the flags that say which table is to be changed, and how.
func registerTarget(t *session.Target, f *flags.Set) {
	f.Flags.StringVarP(&t.Database, "database", "D", "", "the table's database, if the statement lacks it")
	f.Flags.StringVar(&t.Table, "table", "", "the table, with --alter; with --to, check only this table")
	f.Flags.StringVar(&t.Alter, "alter", "", "clauses that follow ALTER TABLE name, instead of the statement")
	f.Flags.StringVar(&t.To, "to", "",
		"file of CREATE TABLE statements, or folder of such *.sql files; Midstream finds the ALTERs that lead to them")
}

// oneTable reads the arguments of a verb that is for one table.
func oneTable(a *app, database string, args []string, verb string) (schema.Name, error) {
	switch {
	case len(args) == 1:
		return schema.ParseName(database, args[0])
	case a.password.Detached(args):
		return schema.Name{}, password.ErrDetached
	}
	return schema.Name{}, fmt.Errorf("name one table: %s database.table", verb)
}
