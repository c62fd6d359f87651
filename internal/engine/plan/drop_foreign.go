package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// A copy of the table has no foreign keys, so the server cannot be asked on it how it drops one. It needs no question: every
// server drops a foreign key by INPLACE with LOCK=NONE, and changes only its dictionary.

// dropped are the table's constraints that the ALTER drops.
func dropped(t *schema.Table, a *ddl.Alter) []schema.ForeignKey {
	var all []schema.ForeignKey
	for _, fk := range t.ForeignKeys {
		if contains(a.DroppedForeign, fk.Constraint) || contains(a.DroppedConstraints, fk.Constraint) {
			all = append(all, fk)
		}
	}
	return all
}

// DropsForeign reports whether the ALTER drops foreign keys of the table.
func DropsForeign(t *schema.Table, a *ddl.Alter) bool { return len(dropped(t, a)) > 0 }

// ofTable returns whether a name is that of a foreign key of the table.
func ofTable(t *schema.Table) func(constraint string) bool {
	return func(constraint string) bool {
		return slices.ContainsFunc(t.ForeignKeys, func(fk schema.ForeignKey) bool { return strings.EqualFold(fk.Constraint, constraint) })
	}
}

// withoutForeign is the statement for a copy of the table, which has no foreign keys; nil if
// nothing remains of the statement.
func withoutForeign(t *schema.Table, a *ddl.Alter) *ddl.Alter { return a.WithoutForeign(ofTable(t)) }

// dropsOnlyForeign reports whether the ALTER drops foreign keys and does nothing else.
func dropsOnlyForeign(t *schema.Table, a *ddl.Alter) bool { return a.DropsOnlyForeign(ofTable(t)) }

// missingForeign is the name of a foreign key that the ALTER drops and the table lacks; "" if there is none.
func missingForeign(t *schema.Table, a *ddl.Alter) string {
	for _, name := range a.DroppedForeign {
		if !ofTable(t)(name) && !contains(a.ForeignIfExists, name) {
			return name
		}
	}
	return ""
}

// AnswerDrop is how the server carries out an ALTER that only drops foreign keys; nil if the ALTER is another one, or the answer would not
// count. failed is the error of Make.
func AnswerDrop(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options, failed error) *Answer {
	if !related(facts, table) || !dropsOnlyForeign(table, alter) || missingForeign(table, alter) != "" ||
		!mayCount(facts, alter, options, failed) || stopped(facts, table, options) {
		return nil
	}
	answer := &Answer{Method: MethodInplace, Lock: "NONE", Effect: Metadata}
	if !DropsForeign(table, alter) { // IF EXISTS
		answer.Effect = Nothing
	}
	return answer
}

// InverseOfDrop is the undo of an ALTER that drops foreign keys: there is none.
func InverseOfDrop(table *schema.Table, alter *ddl.Alter) *Inverse {
	v := &Inverse{After: table, Pairs: map[string]string{}}
	for _, c := range table.Columns {
		v.Pairs[c.Name] = c.Name
	}
	v.NoteDrop(table, alter)
	return v
}

// NoteDrop notes why a change that drops a foreign key cannot be undone, if it can be otherwise.
func (v *Inverse) NoteDrop(table *schema.Table, alter *ddl.Alter) {
	if gone := dropped(table, alter); len(gone) > 0 && v.Why == "" {
		v.Why = "foreign key " + gone[0].Constraint + " cannot come back without a check of all rows, because rows without a parent may be written after the change"
	}
}
