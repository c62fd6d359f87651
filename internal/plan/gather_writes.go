package plan

import (
	"context"
	"database/sql"
	"errors"

	"midstream/internal/schema"
)

// readWrites reads how many rows of the table the server has written in a second, on average since
// it was started: -1 where that is not known.
func (f *Facts) readWrites(ctx context.Context, q schema.Querier, table schema.Name) error {
	f.Writes = -1
	if !f.PerformanceSchema {
		return nil
	}
	var rows, uptime float64
	err := q.QueryRowContext(ctx, `
		SELECT IFNULL((SELECT SUM(count_write) FROM performance_schema.table_io_waits_summary_by_table
		                WHERE object_schema = ? AND object_name = ?), 0),
		       (SELECT MAX(variable_value) FROM performance_schema.global_status WHERE variable_name = 'Uptime')`,
		table.Schema, table.Table).Scan(&rows, &uptime)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if ok, err := seen(err); !ok {
		return err
	}
	f.Writes = rows / max(1, uptime)
	return nil
}
