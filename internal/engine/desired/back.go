package desired

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Alike reports whether a table and its old table, which had this comment, have one definition: a TRUNCATE may have put the old
// table aside. Foreign keys do not count, because the old table has none, nor do the names and texts of CHECKs.
func Alike(table, old *schema.Table, comment string) bool {
	have, want := sideOf(table), sideOf(old)
	if len(have.checks) != len(want.checks) {
		return false
	}
	says := map[string]string{}
	for _, c := range old.Columns {
		if c.Generated == schema.NotGenerated {
			says[c.Name] = c.Name
		}
	}
	have.foreign, want.foreign, have.checks, want.checks = nil, nil, nil, nil
	want.comment = comment
	d := differ{have: have, want: want, says: says, argument: func(old, fresh string) string { return old + " to " + fresh }}
	return strings.TrimSpace(d.diff()) == "" && len(d.reasons) == 0
}

// Back finds the ALTER that leads from a table to a former state of it, which exists as another table. Its foreign
// keys and CHECKs are left out: the former ones move over, and the others are the old table's own. says has the
// table's column for each column of the old table, "" for none.
//
// If no ALTER leads back, such as from a generated column to a plain one, Back returns one that changes nothing: the
// old table is there, and only says counts. foreign are the foreign keys that the table is to lose.
func Back(table, old *schema.Table, comment string, says map[string]string, foreign []schema.ForeignKey) (*ddl.Alter, error) {
	have, want := sideOf(table), sideOf(old)
	have.foreign, want.foreign, have.checks, want.checks = nil, nil, nil, nil
	want.comment = comment
	d := differ{have: have, want: want, says: says, argument: func(old, fresh string) string { return old + " to " + fresh }}
	clauses := d.diff()
	if len(d.reasons) > 0 || strings.TrimSpace(clauses) == "" {
		clauses = "FORCE"
	}
	for _, fk := range foreign {
		clauses += ", DROP FOREIGN KEY " + schema.Quote(fk.Constraint)
	}
	alter, err := ddl.ParseClauses(table.Name, clauses)
	if err != nil {
		return nil, fmt.Errorf("read the ALTER that leads back, %s: %w", clauses, err)
	}
	return alter, nil
}
