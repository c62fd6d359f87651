package speech

import (
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// DropsOnlyForeign reports whether the clauses of an ALTER only drop foreign keys, which no copy of the table has.
func DropsOnlyForeign(clauses string) bool {
	alter, err := ddl.ParseClauses(schema.Name{Table: "t"}, clauses)
	return err == nil && alter.DropsOnlyForeign(func(string) bool { return false })
}
