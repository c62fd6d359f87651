package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Undoing is the undo of a change that was swapped in one step with those of other tables: all are taken back in one step.
type Undoing struct {
	Group *Together
	// Undos are those of each table.
	Undos []planning.Undo
}

// UndoOf finds the tables that are taken back in one step with a table; nil for none. It returns all that is wrong with the flags then.
// holds means that the undo is to be held. err is an *Error.
func UndoOf(
	ctx context.Context, s *Server, t Target, table schema.Name, undo planning.Undo, wishes Wishes, holds bool,
) (u *Undoing, problem, err error) {
	others, err := leftovers.UndoGroup(ctx, s.Pool, table)
	if dbconn.Denied(err) {
		return nil, nil, nil // the plan of the table's own undo names the privileges, and refuses a part of a group
	}
	if err != nil {
		return nil, nil, unread(err)
	}
	if len(others) == 0 {
		return nil, nil, nil
	}
	u = &Undoing{Group: &Together{Database: t.Database, verb: t.Verb, End: StateChanged}}
	names := append(others, table)
	slices.SortFunc(names, func(a, b schema.Name) int { return strings.Compare(a.Dotted(), b.Dotted()) })
	for _, name := range names {
		u.Group.add(&ddl.Alter{Table: name})
	}
	u.Group.regroup()
	var problems []error
	u.Group.wishes, problems = wishes.ByTable(t.Database, names)
	if holds {
		problems = append(problems, fmt.Errorf("--hold is for one table: no process follows several tables that are taken back in one step (%s)", schema.List(names)))
	}
	var wrong []error
	u.Undos, wrong = fillsByTable(undo, t.Database, names)
	return u, errors.Join(append(problems, wrong...)...), nil
}

// fillsByTable gives each table of a group its expressions: --undo-fill "shop.orders: status='new'".
func fillsByTable(undo planning.Undo, database string, names []schema.Name) (each []planning.Undo, problems []error) {
	for range names {
		one := undo
		one.Fills = map[string]string{}
		one.Given = slices.DeleteFunc(slices.Clone(undo.Given), func(flag string) bool {
			return slices.Contains([]string{"key", "map", "shadow-name", "old-name"}, flag) // Undoing adds them for their tables
		})
		each = append(each, one)
	}
	for _, key := range slices.Sorted(maps.Keys(undo.Fills)) {
		table, column, err := tableOf(database, key)
		at := slices.Index(names, table)
		switch {
		case err != nil:
			err = fmt.Errorf(`%w: for tables that are taken back in one step, begin with the table, as in --undo-fill "shop.orders: status='new'"`, err)
		case at < 0:
			err = fmt.Errorf("%s is not among the tables that are taken back in one step: %s", table, schema.List(names))
		default:
			each[at].Fills[column] = undo.Fills[key]
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("--undo-fill %s=%s: %w", key, undo.Fills[key], err))
		}
	}
	return each, problems
}

// At is the undo of a table, with its wishes.
func (u *Undoing) At(i int) (planning.Undo, Wishes) {
	undo, wishes := u.Undos[i], u.Group.wishes[i]
	for _, g := range wishes.given {
		undo.Given = append(undo.Given, g.flag)
	}
	return undo, wishes
}

// Table is the name of a table.
func (u *Undoing) Table(i int) schema.Name { return u.Group.Names[i] }
