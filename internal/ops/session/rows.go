package session

import (
	"errors"
	"fmt"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Rows is a DELETE or an UPDATE as it was given. The server is not known yet.
type Rows struct {
	Verb  ddl.RowVerb // that is wanted
	Text  string
	Table schema.Name // as the statement spells it
	Rest  schema.Name // the table for deleted rows; empty for none
}

// Parse reads the arguments of a verb. rest is "" for no table.
func (r *Rows) Parse(args []string, t Target, rest string) error {
	if len(args) != 1 {
		return fmt.Errorf("give one statement in quotes, %s with a condition", r.Verb)
	}
	r.Text = args[0]
	err := ddl.Guess(func(d token.Dialect) error {
		statement, err := ddl.ParseRowChangeIn(d, r.Text)
		switch {
		case err != nil:
			return err
		case statement.Verb != r.Verb:
			return fmt.Errorf("midstream %s takes a statement that begins with %s", t.Verb, r.Verb)
		case statement.Table.Schema == "" && t.Database == "":
			return errors.New("name the table's database: database.table, or --database")
		}
		if r.Table = statement.Table; r.Table.Schema == "" {
			r.Table.Schema = t.Database
		}
		return nil
	})
	if rest != "" {
		var wrong error
		if r.Rest, wrong = schema.ParseName(t.Database, rest); wrong != nil {
			return errors.Join(err, fmt.Errorf("--rest: %w", wrong))
		}
	}
	return err
}

// Tables are the table of the statement, and the table for deleted rows.
func (r *Rows) Tables() []schema.Name {
	if r.Rest == (schema.Name{}) {
		return []schema.Name{r.Table}
	}
	return []schema.Name{r.Table, r.Rest}
}
