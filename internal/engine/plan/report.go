package plan

import (
	"fmt"
	"slices"
	"strings"
)

// ColumnChange is what becomes of a column that changes.
type ColumnChange struct {
	Source string // "" if it is new
	Target string // "" if it is dropped
	What   string // "renamed", "added", "dropped", "redefined"
}

// String says it in words.
func (c ColumnChange) String() string {
	switch {
	case c.Source == "":
		return c.Target + " is new"
	case c.Target == "":
		return c.Source + " is dropped"
	case c.Source != c.Target:
		return c.Source + " becomes " + c.Target
	}
	return c.Source + " is redefined"
}

// ColumnChanges are the changes of columns, as the statement and the operator declare them. All
// other columns keep their names and definitions. If the statement can't be read completely
// (Alter.Parsed), some changes may be missing.
func (p *Plan) ColumnChanges() []ColumnChange {
	var changes []ColumnChange
	told := func(target string) bool {
		return slices.ContainsFunc(changes, func(c ColumnChange) bool { return strings.EqualFold(c.Target, target) })
	}
	for target, source := range p.Map {
		what := "renamed"
		switch {
		case source == "":
			what = "added"
		case strings.EqualFold(source, target): // it stays, and may be redefined
			continue
		}
		changes = append(changes, ColumnChange{source, target, what})
	}
	slices.SortFunc(changes, func(a, b ColumnChange) int { return strings.Compare(a.Target, b.Target) })
	for _, r := range p.Alter.Renames {
		if !told(r.New) {
			changes = append(changes, ColumnChange{r.Old, r.New, "renamed"})
		}
	}
	for _, name := range p.Alter.Modified {
		if target := renamed(p.Alter, name); target == name && !told(target) {
			changes = append(changes, ColumnChange{name, name, "redefined"})
		}
	}
	for _, name := range slices.Concat(p.Alter.Added, p.Alter.AddedIfMissing) {
		if !told(name) {
			changes = append(changes, ColumnChange{"", name, "added"})
		}
	}
	for _, name := range p.Alter.Dropped {
		changes = append(changes, ColumnChange{name, "", "dropped"})
	}
	return changes
}

// onClone are the privileges on the schema for a statement of the server's own, and for the clone.
var onClone = []string{"ALTER", "CREATE", "DROP", "INSERT"}

// Grants are the privileges that the method needs, as GRANT spells them.
func (p *Plan) Grants() []string {
	database := grantSchema(p.Source.Name.Schema, p.Server.LiteralNames) + ".*"
	look := "SELECT ON performance_schema.*"
	if p.Choice.Method != MethodShadow {
		wanted := append(slices.Clone(onClone), "SELECT")
		if p.KeepsUndo || p.Back != nil {
			wanted = append(wanted, "UPDATE")
		}
		return []string{strings.Join(wanted, ", ") + " ON " + database, look, "PROCESS ON *.*"}
	}
	all := []string{
		fmt.Sprintf("%s ON %s", strings.Join(slices.Concat(onTables, onSchema), ", "), database),
		look, strings.Join(onServer(p.Capture.By), ", ") + " ON *.*",
	}
	if p.Into.View {
		all[0] = strings.Replace(all[0], " ON ", ", CREATE VIEW, SHOW VIEW ON ", 1)
	}
	if p.Into.Given() && p.Into.Name.Schema != p.Source.Name.Schema {
		all = append(all, strings.Join(onInto(p.Into), ", ")+" ON "+grantSchema(p.Into.Name.Schema, p.Server.LiteralNames)+".*")
	}
	return all
}
