package plan

import (
	"context"

	"midstream/internal/schema"
)

// watchedOld are the tables of performance_schema that tell whether anybody uses a table.
var watchedOld = []string{"table_io_waits_summary_by_table", "metadata_locks", "threads", "session_connect_attrs",
	"events_statements_current", "events_transactions_current"}

// LackedByCleanup returns the privileges, each with its GRANT, that the account lacks to drop
// the tables, and with old to look whether anybody uses a former source.
func LackedByCleanup(ctx context.Context, q schema.Querier, drop []schema.Name, old bool) ([]Risk, error) {
	f := &Facts{}
	if err := f.readVariables(ctx, q); err != nil {
		return nil, err
	}
	if err := f.readAccount(ctx, q); err != nil {
		return nil, err
	}
	c := checker{facts: f}
	if old && f.PerformanceSchema {
		c.checkReadable(watchedOld, "who uses the old table is found there")
	}
	for _, name := range drop {
		if !f.Grants.On("DROP", name.Schema, name.Table) {
			c.missing([]string{"DROP"}, name.Quoted(), "the table is to be dropped")
		}
	}
	return c.blocking, nil
}
