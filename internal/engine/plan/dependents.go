package plan

import (
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Dependent is what says a table's name in its text: the server compares that with the table at the time of use.
type Dependent struct {
	Kind  string // view, procedure, function, event or trigger
	Name  schema.Name
	Table string // of a trigger
	Mode  string // sql_mode
	Text  string
}

// String names it.
func (d Dependent) String() string { return d.Kind + " " + d.Name.String() }

// ColumnGrant is a privilege on one column of the table.
type ColumnGrant struct{ Grantee, Privilege, Column string }

// Dependents are what may break where columns of a table get other names, or go.
type Dependents struct {
	All    []Dependent
	Hidden []string // objects whose text the account may not see
	Grants []ColumnGrant
}

// TakesColumns says that columns of the table get other names, or go: then its Dependents are to be looked at.
func TakesColumns(a *ddl.Alter) bool { return len(taken(a)) > 0 }

// taken are the columns that are there no more under their names, each with its new one, or "".
func taken(a *ddl.Alter) []ddl.Rename {
	var all []ddl.Rename
	for _, name := range a.Dropped {
		if !contains(a.Added, name) { // else there is one of that name again
			all = append(all, ddl.Rename{Old: name})
		}
	}
	for _, r := range a.Renames {
		if !strings.EqualFold(r.Old, r.New) {
			all = append(all, r)
		}
	}
	return all
}
