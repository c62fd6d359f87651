package facts

import (
	"context"
	"slices"

	"midstream/internal/engine/carry"
	"midstream/internal/mysql/schema"
)

// readTriggered reads the tables that the triggers may use, and the database's collation.
func (f gatherer) readTriggered(ctx context.Context, q schema.Querier, table schema.Name) error {
	triggers, err := schema.Triggers(ctx, q, table)
	if err != nil || len(triggers) == 0 {
		return err
	}
	collations, err := firstColumn(
		ctx, q,
		"SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = "+schema.Literal(table.Schema),
	)
	if err != nil {
		return err
	}
	if len(collations) == 1 {
		f.Collation = collations[0]
	}
	for _, t := range triggers {
		for _, name := range carry.Tables(t) {
			if name.Schema == "" {
				name.Schema = table.Schema
			}
			if name == table || slices.Contains(f.TriggerTables, name) {
				continue
			}
			var there bool
			err := q.QueryRowContext(
				ctx, "SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
				name.Schema, name.Table,
			).Scan(
				&there,
			)
			if err != nil {
				return err
			}
			if there {
				f.TriggerTables = append(f.TriggerTables, name)
			}
		}
	}
	return nil
}
