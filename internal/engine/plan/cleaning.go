package plan

import (
	"context"

	"midstream/internal/mysql/schema"
)

// accesses is the table of performance_schema that counts what was read and written in a table.
const accesses = "table_io_waits_summary_by_table"

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
	if old {
		c.checkReadable(append([]string{accesses}, watched...), "who uses the old table is found there")
	}
	for _, name := range drop {
		if !f.Grants.On("DROP", name.Schema, name.Table) {
			c.missing([]string{"DROP"}, name.Quoted(), "the table is to be dropped")
		}
	}
	return c.blocking, nil
}
