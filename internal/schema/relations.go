package schema

import "context"

// loadForeignKeys reads the constraints in both directions, across all schemas.
func (t *Table) loadForeignKeys(ctx context.Context, q Querier) error {
	rows, err := q.QueryContext(ctx, `
		SELECT constraint_name, constraint_schema, table_name, unique_constraint_schema, referenced_table_name
		  FROM information_schema.referential_constraints
		 WHERE constraint_schema = ? AND table_name = ?
		    OR unique_constraint_schema = ? AND referenced_table_name = ?
		 ORDER BY constraint_schema, constraint_name`,
		t.Name.Schema, t.Name.Table, t.Name.Schema, t.Name.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var fk ForeignKey
		if err := rows.Scan(&fk.Constraint, &fk.Child.Schema, &fk.Child.Table,
			&fk.Parent.Schema, &fk.Parent.Table); err != nil {
			return err
		}
		if fk.Child == t.Name {
			t.ForeignKeys = append(t.ForeignKeys, fk)
		}
		if fk.Parent == t.Name {
			t.ReferencedBy = append(t.ReferencedBy, fk)
		}
	}
	return rows.Err()
}

// loadTriggers reads the names of the table's triggers.
func (t *Table) loadTriggers(ctx context.Context, q Querier) error {
	rows, err := q.QueryContext(ctx, `
		SELECT trigger_name FROM information_schema.triggers
		 WHERE event_object_schema = ? AND event_object_table = ?
		 ORDER BY trigger_name`, t.Name.Schema, t.Name.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		t.Triggers = append(t.Triggers, name)
	}
	return rows.Err()
}
