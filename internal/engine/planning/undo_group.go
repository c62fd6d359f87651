package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// wholeGroup refuses an undo of the change of some of the tables that were swapped in one step, or of a table that was changed alone
// since.
func (m *undoMaker) wholeGroup(name schema.Name) error {
	var with, changed []string
	for _, p := range m.options.Plan.Together {
		with = append(with, p.Alter.Table.Dotted())
	}
	if m.saved.Start != nil {
		changed = m.saved.Start.Together
	}
	slices.Sort(with)
	switch {
	case slices.Equal(with, changed):
		return nil
	case len(with) == 0:
		return notAlone(name, "its last change was swapped in one step with that of "+strings.Join(changed, ", "), name)
	}
	recorded := m.options.Plan.Together[0].Alter.Table // the record of this table is that of another change, or is gone
	return notAlone(name, fmt.Sprintf("the last change of %s is not the one that was swapped in one step with that of %s", name, strings.Join(with, ", ")), recorded)
}

// notAlone refuses the undo of a group of which a table cannot be taken back. ends is a table whose record is to be given up.
func notAlone(table schema.Name, why string, ends schema.Name) error {
	return refuseBy(plan.CodeTogether, table, notBack, why, fmt.Sprintf("Give the undo of all these tables up: midstream undo  --end %[1]s; "+
		"after that, an old table that exists still permits midstream undo  --cold of its table alone", ends.Argument()))
}

// readPartners finds the ALTERs that lead back for the other tables of the group: the foreign keys between the tables are judged by them.
func (m *undoMaker) readPartners(ctx context.Context) error {
	partners := slices.Clone(m.options.Plan.Together)
	for i, p := range partners {
		other := undoMaker{server: m.server, options: m.options}
		others := slices.Delete(slices.Clone(partners), i, i+1)
		other.options.Plan = plan.Options{Together: append(others, plan.Partner{Alter: m.alter})}
		if err := other.readRecord(ctx, p.Alter.Table); err != nil {
			return err
		}
		if m.saved.Undo.Back != other.saved.Undo.Back {
			return notAlone(m.table.Name, fmt.Sprintf("the last change of only one of %s and %s was an undo", m.table.Name, p.Alter.Table), p.Alter.Table)
		}
		if err := other.readTables(ctx); err != nil {
			return err
		}
		partners[i] = plan.Partner{Alter: other.alter}
	}
	m.options.Plan.Together = partners
	return m.parksApart(partners)
}

// parksApart refuses to leave rows out whose children, or parents, another table of the group has.
func (m *undoMaker) parksApart(partners []plan.Partner) error {
	for _, p := range partners {
		if m.undo.Park && p.Binds(m.table) {
			return refuseBy(plan.CodeTogether, m.table.Name, cannotUse("--park"),
				"a foreign key binds the table to "+p.Alter.Table.String()+", whose rows would lose their parents",
				"Leave out --park; the undo lists the rows that do not fit before its lock: change these")
		}
	}
	return nil
}
