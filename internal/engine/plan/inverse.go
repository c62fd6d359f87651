package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Inverse is how a change that the server makes itself can be taken back: by another ALTER of the server.
type Inverse struct {
	// Clauses are those of the ALTER that leads back; "" if there is none.
	Clauses string
	// Why is the reason why the change cannot be taken back without a loss; "" if it can.
	Why string
	// Alter is that ALTER; nil if there is none. By is how the server would do it, as an altered empty copy has shown; nil if it was
	// not asked. Refuses are the rows that it refuses; "" for none.
	Alter   *ddl.Alter `json:"-"`
	By      *Answer    `json:"-"`
	Refuses string     `json:",omitempty"`
	// Lost are the columns whose values go with that ALTER: the change adds them.
	Lost []string
	// After is the table as the change makes it, as an empty copy has shown.
	After *schema.Table
	// Pairs are the columns that the table has before and after the change: new name to old name.
	Pairs map[string]string
	// Instead is the cost of a shadow, which could be taken back; nil if Why is "", or a shadow is refused.
	Instead *Prediction `json:",omitempty"`
	// NotInstead is why a shadow is refused; "" if it is not.
	NotInstead string
}

// Invert finds what becomes of the columns if the server alters a table, and alters it back. before and after are an
// empty copy of the table, without and with the change.
func Invert(before, after *schema.Table, alter *ddl.Alter, says map[string]string) Inverse {
	v := Inverse{After: after, Pairs: map[string]string{}}
	mappings, err := MapColumns(before, after, alter, says)
	switch {
	case err != nil:
		v.Why = err.Error()
		return v
	case len(alter.PartitionOps) > 0:
		v.Why = "the change works on partitions"
		return v
	}
	kept := map[string]bool{}
	for _, m := range mappings {
		kept[fold(m.Source)], v.Pairs[m.Shadow] = true, m.Source
	}
	var gone []string
	for _, c := range before.Columns {
		if c.Generated == schema.NotGenerated && !kept[fold(c.Name)] {
			gone = append(gone, c.Name)
		}
	}
	switch changed := changedValues(before, after, mappings); {
	case len(gone) == 1:
		v.Why = fmt.Sprintf("the values of column %s are gone then", gone[0])
	case len(gone) > 1:
		v.Why = fmt.Sprintf("the values of columns %s are gone then", strings.Join(gone, ", "))
	case changed != "":
		v.Why = changed
	}
	for _, c := range after.Columns {
		former, stays := before.Column(v.Pairs[c.Name])
		if c.Generated == schema.NotGenerated && (!stays || former.Generated != schema.NotGenerated) {
			v.Lost = append(v.Lost, c.Name)
		}
	}
	return v
}

// Back checks that the ALTER that leads back changes no value without an error. says has the column after the change for
// each column before it.
func (v *Inverse) Back(before *schema.Table, back *ddl.Alter, says map[string]string) {
	v.Clauses, v.Alter = back.Clauses, back
	mappings, err := MapColumns(v.After, before, back, says)
	if err != nil {
		v.Clauses, v.Why, v.Alter = "", err.Error(), nil
	} else if changed := changedValues(v.After, before, mappings); changed != "" && v.Why == "" {
		v.Why = "on the way back, " + changed
	}
}

// changedValues names a column whose values the server changes without an error; "" if there is none.
func changedValues(from, to *schema.Table, mappings []Mapping) string {
	for _, m := range mappings {
		was, _ := from.Column(m.Source)
		is, _ := to.Column(m.Shadow)
		if was.Type != is.Type && len(m.Losses) > 0 {
			return fmt.Sprintf("values of column %s may change: they %s", m.Source, strings.Join(m.Losses, ", and they "))
		}
	}
	return ""
}

// Keeps reports whether a run of the plan may keep what an undo of the server's own change needs. A redo may be kept
// although values are gone: the undo has reported that.
func (p *Plan) Keeps() bool {
	v := p.Inverse
	return v != nil && v.Clauses != "" && (v.Why == "" || p.Back != nil)
}

// UndoWish is what a run does that is to be undoable, if the server's own change could not be undone. "" is UndoRequire.
type UndoWish string

// The wishes.
const (
	// UndoAuto makes the change all the same.
	UndoAuto UndoWish = "auto"
	// UndoPrefer takes a shadow if that is quick enough, and otherwise makes the change all the same.
	UndoPrefer UndoWish = "prefer"
	// UndoRequire takes a shadow, or refuses.
	UndoRequire UndoWish = "require"
)
