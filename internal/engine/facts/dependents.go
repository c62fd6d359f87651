package facts

import (
	"context"
	"database/sql"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

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

// GatherDependents reads what names the table, as far as the account may see it.
func GatherDependents(ctx context.Context, q schema.Querier, table schema.Name) (*plan.Dependents, error) {
	d := &plan.Dependents{}
	for _, query := range dependentsQueries {
		if err := readDependents(ctx, q, d, query, table); err != nil {
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
		var g plan.ColumnGrant
		if err := rows.Scan(&g.Grantee, &g.Privilege, &g.Column); err != nil {
			return nil, err
		}
		d.Grants = append(d.Grants, g)
	}
	return d, rows.Err()
}

func readDependents(ctx context.Context, q schema.Querier, d *plan.Dependents, query string, table schema.Name) error {
	rows, err := q.QueryContext(ctx, query, table.Table, table.Schema, table.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var one plan.Dependent
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
