package planning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Only refuses the flags that have no effect on the undo of a kind of change, except those that are named.
func (u Undo) Only(table schema.Name, kind string, permitted ...string) error {
	given := map[string]bool{"cold": u.Cold, "lazy": u.Lazy, "merge": u.Merge, "park": u.Park, "undo-fill": len(u.Fills) > 0}
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		if given[flag] && !slices.Contains(permitted, flag) {
			return useless(table, "--"+flag, "it has no effect on the undo of "+kind, "Leave out --"+flag)
		}
	}
	return nil
}

// OnlyTables is Only for the undo of a statement on complete tables.
func (u Undo) OnlyTables(statement *ddl.Statement) error {
	var permitted []string
	if statement.Kind == ddl.KindTruncate {
		permitted = []string{"merge"}
	}
	return u.Only(statement.Tables()[0], fmt.Sprintf("a %s", statement.Kind), permitted...)
}

// tryFlags refuses flags of the undo of an ALTER that have no effect, and expressions that the server does not take. It
// writes nothing. says has the table's column for each column of the old table, "" for none.
func tryFlags(ctx context.Context, pool *dbconn.Pool, undo Undo, table, old *schema.Table, says map[string]string) error {
	if err := undo.Only(table.Name, "an ALTER", "cold", "lazy", "park", "undo-fill"); err != nil {
		return err
	}
	var dropped []string
	for _, c := range old.Columns {
		if source, settable := says[c.Name]; settable && source == "" {
			dropped = append(dropped, c.Name)
		}
	}
	has := "The undo brings no column back"
	if len(dropped) > 0 {
		has = "Columns that the undo brings back: " + strings.Join(dropped, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(undo.Fills)) {
		flag, expr := "--undo-fill "+name+"="+undo.Fills[name], undo.Fills[name]
		if !slices.ContainsFunc(dropped, func(c string) bool { return strings.EqualFold(c, name) }) {
			return useless(table.Name, flag, "the change has dropped no column "+name, has)
		}
		rows, err := pool.DB().QueryContext(ctx, fmt.Sprintf("SELECT (%s) FROM %s LIMIT 0", expr, table.Name.Quoted()))
		if err == nil {
			err = rows.Close()
		}
		if err != nil && dbconn.Number(err) == 0 { // the connection was lost
			return failed(ReadFacts, table.Name, fmt.Errorf("try %s: %w", flag, err))
		}
		if err != nil {
			return useless(table.Name, flag, dbconn.Message(err),
				"Give an expression over the columns of "+table.Name.String()+"; a text is in quotes: --undo-fill \""+name+"='new'\"")
		}
	}
	return nil
}

// useless refuses a flag.
func useless(table schema.Name, flag, why, fix string) error {
	return &plan.Refused{Table: table.String(), Blocking: []plan.Risk{{
		Code: plan.CodeUndo, What: "the undo cannot use " + flag, Why: why, Fix: fix, Blocking: true,
	}}}
}
