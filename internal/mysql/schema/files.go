package schema

import (
	"context"
	"fmt"
)

// Files returns the number of files that a table's rows are in: one, or one for each partition, or
// for each subpartition.
func Files(ctx context.Context, q Querier, table Name) (n int, err error) {
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = ? AND table_name = ?",
		table.Schema, table.Table).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the partitions of %s: %w", table, err)
	}
	return max(n, 1), nil
}
