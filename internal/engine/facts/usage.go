package facts

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// readUsage reads what the server has counted of the table since its start, or since the last ALTER.
func (f gatherer) readUsage(ctx context.Context, q schema.Querier, table schema.Name) error {
	if !f.PerformanceSchema {
		return nil
	}
	var uptime, age float64
	err := q.QueryRowContext(ctx, `
		SELECT variable_value + 0, IFNULL((SELECT GREATEST(0, TIMESTAMPDIFF(SECOND, MAX(create_time), NOW()))
		         FROM information_schema.tables WHERE table_schema = ? AND table_name = ?), 1e9)
		  FROM performance_schema.global_status WHERE variable_name = 'Uptime'`,
		table.Schema, table.Table).Scan(&uptime, &age)
	if ok, err := seen(err); !ok {
		return err
	}
	rows, err := q.QueryContext(ctx, `
		SELECT index_name, count_star, count_insert FROM performance_schema.table_io_waits_summary_by_index_usage
		 WHERE object_schema = ? AND object_name = ?`, table.Schema, table.Table)
	if ok, err := seen(err); !ok {
		return err
	}
	defer rows.Close()
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	u := plan.Usage{Uptime: seconds(uptime), Counting: seconds(min(uptime, age))}
	for rows.Next() {
		var index sql.NullString
		var all, inserts int64
		if err := rows.Scan(&index, &all, &inserts); err != nil {
			return err
		}
		u.All += all
		u.Inserts += inserts
		if index.Valid && all == 0 {
			u.Unused = append(u.Unused, index.String)
		}
	}
	slices.Sort(u.Unused)
	f.Usage = &u
	return rows.Err()
}
