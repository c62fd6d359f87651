package summary

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/undos"
)

// OfUndoables lists the changes of a server that can be undone, in a line each for those who want quiet.
func OfUndoables(all []undos.Standing, address string, style Style, quiet bool) string {
	if quiet {
		return briefUndoables(all)
	}
	s := newSheet(style)
	if len(all) == 0 {
		s.heading("No change on %s can be undone. To keep one undoable: midstream run  --undo=24h \"ALTER TABLE ...\"", escape.Line(address))
	}
	for _, group := range grouped(all) {
		u := group[0].state()
		names := make([]schema.Name, 0, len(group))
		for _, one := range group {
			if names = append(names, one.Kept.Table); one.Kept.State == leftovers.UndoRevoked {
				u = one.state()
			}
		}
		text := fmt.Sprintf("%s: %s", schema.List(names), u.State)
		if u.State == leftovers.UndoOpen {
			text += " until " + units.Minute(u.Record.Until)
		}
		if u.Why != "" {
			text += ", because " + escape.Line(u.Why)
		}
		s.heading("%s", text)
		for _, one := range group {
			if len(u.Together) > 0 {
				s.line("Table", "%s", one.Kept.Table)
			}
			one.describe(s)
		}
		next := NextForUndo(u)
		if len(u.Together) > 0 && u.Why == "" {
			next += "; these tables are taken back in one step"
		}
		s.line("Next", "%s", next)
	}
	return s.String()
}

// standing is an undo of the list.
type standing struct{ undos.Standing }

// grouped puts the undos that are one step next to each other, at the place of the first one.
func grouped(all []undos.Standing) (groups [][]standing) {
	for i, one := range all {
		with := func(other undos.Standing) bool {
			return slices.Contains(other.Kept.Together, one.Kept.Table) && slices.Contains(one.Kept.Together, other.Kept.Table)
		}
		if slices.ContainsFunc(all[:i], with) {
			continue
		}
		group := []standing{{one}}
		for _, other := range all[i+1:] {
			if with(other) {
				group = append(group, standing{other})
			}
		}
		slices.SortFunc(group, func(a, b standing) int { return byName(a.Kept.Table, b.Kept.Table) })
		groups = append(groups, group)
	}
	return groups
}

// state is the undo, with the state that counts.
func (one standing) state() leftovers.Undoable {
	u := *one.Kept
	if one.Follows() {
		u.State = leftovers.UndoOpen
	}
	return u
}

// describe writes what is known of the change of one table.
func (one standing) describe(s *sheet) {
	u := one.state()
	if u.Alter != "" || !u.Record.Rebuilt {
		s.line("Change", "%s: %s", changeAt(u.Record.Back, u.Record.Swapped), escape.Line(ddl.Shorten(u.Alter)))
	}
	if u.Record.Old != "" {
		s.line("Old table", "%s", u.Old)
	}
	if u.Record.Soaks() {
		s.line("Soaking", "the first act of a drop; the second act follows: %s", escape.Line(u.Record.Soak.Clauses))
	}
	if u.State == leftovers.UndoOpen || u.State == leftovers.UndoRevoked {
		s.line("How", "%s", modeOf(one.Standing))
	}
	if rows := unfitOf(one.Standing); rows != "" && u.State == leftovers.UndoOpen {
		s.line("Unfit rows", "%s", rows)
	}
	if len(one.Lost) > 0 {
		s.line("Given up", "by %s: the values of %s", anUndo(u.Record.Back), columns(one.Lost))
	}
	if len(one.Later) > 0 {
		s.line("Taken back", "too: later changes of the table: %s", escape.Line(strings.Join(one.Later, ", ")))
	}
	if lacks := one.Unfilled.Lacks(); lacks != "" && u.State != leftovers.UndoRunning {
		var more []string
		if u.State == leftovers.UndoRevoked {
			more = []string{"--cold"}
		}
		command := one.Unfilled.Command(u.Table, more...)
		if one.Follows() {
			command = one.Unfilled.AtFollower(u.Table)
		}
		s.line("New rows", "%s", escape.Line("since the swap need "+lacks+": "+command))
	}
	for i, p := range u.Parked {
		s.line(map[bool]string{true: "Set aside"}[i == 0], "%s", parkedIn(p, u))
	}
}
