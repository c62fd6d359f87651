package plan

import (
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Dependent is an object whose text names a table. The server compares the text with the table only
// when the object is used.
type Dependent struct {
	Kind string // view, procedure, function, event or trigger
	Name schema.Name
	// Table is the table of a trigger.
	Table string
	Mode  string // sql_mode
	Text  string
}

// String returns its kind and name.
func (d Dependent) String() string { return d.Kind + " " + d.Name.String() }

// ColumnGrant is a privilege on one column of the table.
type ColumnGrant struct{ Grantee, Privilege, Column string }

// Dependents are what may break if columns of a table are renamed or dropped.
type Dependents struct {
	All []Dependent
	// Hidden are objects whose text the account may not see.
	Hidden []string
	Grants []ColumnGrant
}

// TakesColumns reports whether columns of the table are renamed or dropped. If so, the plan needs
// the table's Dependents.
func TakesColumns(a *ddl.Alter) bool { return len(taken(a)) > 0 }

// taken are the columns that no longer exist under their names, each with its new name, or "" if it
// is dropped.
func taken(a *ddl.Alter) []ddl.Rename {
	var all []ddl.Rename
	for _, name := range a.Dropped {
		if !contains(a.Added, name) { // else another column has that name
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
