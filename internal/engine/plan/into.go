package plan

import (
	"strings"

	"midstream/internal/mysql/schema"
)

// Into is where the swap puts the new table (--into). The zero value is the source's place.
type Into struct {
	Name schema.Name
	// View means that the source's name is a view over the new table afterwards (--into-view).
	View bool
}

// Given reports whether the new table gets another name.
func (i Into) Given() bool { return i.Name != (schema.Name{}) }

// Dotted is the name as records have it; "" if there is none.
func (i Into) Dotted() string {
	if !i.Given() {
		return ""
	}
	return i.Name.Dotted()
}

// OnlyNewTableMoves is why a run with --into takes a shadow.
const OnlyNewTableMoves = "one RENAME puts a new table under another name"

// NewName is the name that the new table has after the swap.
func NewName(p *Plan) schema.Name {
	if p.Into.Given() {
		return p.Into.Name
	}
	return p.Source.Name
}

// ViewOf returns the name that the view over the new table has until the swap.
func ViewOf(table schema.Name) schema.Name { return table.Sibling(ownName(table.Table, "_view")) }

// View is how the view is made that takes the source's name in the swap. A server makes a view only over a table that exists. So for a
// moment the new table's name is that of a view of ours, the stand-by: it shows the source, and gives it what is written.
type View struct {
	Name, Over schema.Name
	// StandBy, Create and DropStandBy are the statements, in this order.
	StandBy, Create, DropStandBy string
}

// ViewFor is the view of a run over its new table, which has the columns of the shadow; nil if it makes none.
func ViewFor(p *Plan, shadow *schema.Table) *View {
	if !p.Into.View {
		return nil
	}
	v := View{Name: ViewOf(p.Source.Name), Over: p.Into.Name}
	var columns, now []string
	for _, c := range shadow.Columns {
		if c.Invisible {
			continue
		}
		columns = append(columns, schema.Quote(c.Name))
		if was, there := p.Source.Column(c.Name); there {
			now = append(now, schema.Quote(was.Name))
		} else {
			now = append(now, "NULL AS "+schema.Quote(c.Name))
		}
	}
	v.StandBy = "CREATE ALGORITHM=MERGE VIEW " + v.Over.Quoted() + " AS SELECT " + strings.Join(now, ", ") +
		" FROM " + p.Source.Name.Quoted() + " WHERE " + schema.Literal(LockName(p.Source.Name)) + " <> ''"
	v.Create = "CREATE ALGORITHM=MERGE VIEW " + v.Name.Quoted() + " AS SELECT " + strings.Join(columns, ", ") + " FROM " + v.Over.Quoted()
	v.DropStandBy = "DROP VIEW " + v.Over.Quoted()
	return &v
}

// IsStandBy reports whether a view of that definition is the stand-by of a run on the source.
func IsStandBy(definition string, source schema.Name) bool {
	return strings.Contains(definition, LockName(source))
}

// IsViewOver reports whether a view of that definition is one over the new table.
func IsViewOver(definition string, into schema.Name) bool {
	return strings.HasSuffix(strings.TrimSpace(definition), " "+into.Quoted())
}

// FirstInSwap reports whether a RENAME asks for the lock of the new table's name before it asks for the source's. Then a swap in two
// sessions must see which of the two it waits for.
func FirstInSwap(into, source schema.Name) bool {
	return into.Schema+"\x00"+into.Table < source.Schema+"\x00"+source.Table
}

// IntoFacts are the facts of the place of the new table.
type IntoFacts struct {
	NoDatabase bool
	// Kind is what has the name, such as VIEW; "" for nothing. Definition is that of a view.
	Kind, Definition string
	// ViewKind and ViewDefinition are what has the name of the view until the swap.
	ViewKind, ViewDefinition string
	// Encrypts is the default of the database for encryption, and Encryption the one of the source's; "" if they are not known.
	Encrypts, Encryption string
	// EncryptionChecked means that table_encryption_privilege_check is ON.
	EncryptionChecked bool
	Dependents        *Dependents
	// Grants are the privileges that were given on the source by name: of accounts, each with its privileges.
	Grants []TableGrant
}

// TableGrant is what an account may do with a table, by a grant on this table.
type TableGrant struct{ Grantee, Privileges string }
