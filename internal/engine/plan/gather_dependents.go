package plan

import (
	"context"
	"database/sql"
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

const notOfTheServer = " NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"

// dependentsQueries find what has the table's name in its text, in whatever database.
var dependentsQueries = []string{
	"SELECT 'view', table_schema, table_name, '', '', view_definition FROM information_schema.views WHERE table_schema" + notOfTheServer +
		" AND (view_definition = '' OR LOCATE(?, view_definition) > 0) AND CONCAT('', ?, ?) IS NOT NULL",
	"SELECT LOWER(routine_type), routine_schema, routine_name, '', sql_mode, routine_definition FROM information_schema.routines WHERE routine_schema" + notOfTheServer +
		" AND (routine_definition IS NULL OR LOCATE(?, routine_definition) > 0) AND CONCAT('', ?, ?) IS NOT NULL",
	"SELECT 'event', event_schema, event_name, '', sql_mode, event_definition FROM information_schema.events WHERE LOCATE(?, event_definition) > 0 AND CONCAT('', ?, ?) IS NOT NULL",
	"SELECT 'trigger', trigger_schema, trigger_name, event_object_table, sql_mode, action_statement FROM information_schema.triggers" +
		" WHERE trigger_schema" + notOfTheServer + " AND LOCATE(?, action_statement) > 0 AND NOT (event_object_schema = ? AND event_object_table = ?)",
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

// GatherDependents reads what names the table, as far as the account may see it.
func GatherDependents(ctx context.Context, q schema.Querier, table schema.Name) (*Dependents, error) {
	d := &Dependents{}
	for _, query := range dependentsQueries {
		if err := d.read(ctx, q, query, table); err != nil {
			return nil, err
		}
	}
	rows, err := q.QueryContext(ctx, "SELECT grantee, privilege_type, column_name FROM information_schema.column_privileges"+
		" WHERE table_schema = ? AND table_name = ? ORDER BY grantee, column_name, privilege_type", table.Schema, table.Table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var g ColumnGrant
		if err := rows.Scan(&g.Grantee, &g.Privilege, &g.Column); err != nil {
			return nil, err
		}
		d.Grants = append(d.Grants, g)
	}
	return d, rows.Err()
}

func (d *Dependents) read(ctx context.Context, q schema.Querier, query string, table schema.Name) error {
	rows, err := q.QueryContext(ctx, query, table.Table, table.Schema, table.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var one Dependent
		var text sql.NullString
		if err := rows.Scan(&one.Kind, &one.Name.Schema, &one.Name.Table, &one.Table, &one.Mode, &text); err != nil {
			return err
		}
		if one.Text = text.String; one.Text == "" {
			d.Hidden = append(d.Hidden, one.String())
		} else {
			d.All = append(d.All, one)
		}
	}
	return rows.Err()
}
