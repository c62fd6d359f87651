package facts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// readWrites reads how many rows of the table the server has written in a second, on average since
// its start; -1 if that is not known.
func (f gatherer) readWrites(ctx context.Context, q schema.Querier, table schema.Name) error {
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

// readRows checks whether a table has rows although its statistics show none: these are old, or not
// kept. For the plan, a table that can't be read has no rows. The plan then refuses for other
// reasons.
func (f gatherer) readRows(ctx context.Context, q schema.Querier, table schema.Name) error {
	var estimated int64
	err := q.QueryRowContext(
		ctx,
		"SELECT COALESCE(MAX(table_rows), 0) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
		table.Schema, table.Table,
	).Scan(
		&estimated,
	)
	if err != nil {
		return err
	}
	if f.Version.MariaDB && estimated <= 4*plan.FewRows {
		// The estimate may be old.
		counted, err := Count(ctx, q, table, plan.FewRows+1)
		if err != nil && dbconn.Number(err) == 0 {
			return err
		}
		f.Few = err == nil && counted <= plan.FewRows
	}
	if f.HasRows = estimated > 0; f.HasRows {
		return nil
	}
	f.Counted, err = Count(ctx, q, table, MostCounted)
	f.HasRows = f.Counted > 0
	if dbconn.Number(err) != 0 {
		return nil
	}
	return err
}

// MostCounted is up to how many rows are counted if the statistics show none.
const MostCounted = 1000

// Count counts the rows of a table, up to a limit.
func Count(ctx context.Context, q schema.Querier, table schema.Name, most int) (n int64, err error) {
	query := fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d) AS midstream_rows", table.Quoted(), most)
	err = q.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
