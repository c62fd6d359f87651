package facts

import (
	"context"
	"database/sql"
	"fmt"

	"midstream/internal/mysql/schema"
)

// Meets asks the server how many rows of a table meet a condition, without reading them; less than 0 if it does not say.
func Meets(ctx context.Context, db *sql.DB, table schema.Name, condition string, mariaDB bool) (int64, error) {
	explain := "EXPLAIN FORMAT=TRADITIONAL "
	if mariaDB {
		explain = "EXPLAIN EXTENDED " // for the column filtered
	}
	rows, err := db.QueryContext(ctx, explain+"SELECT * FROM "+table.Quoted()+" WHERE ("+condition+")")
	if err != nil {
		return -1, fmt.Errorf("estimate the rows that meet the condition: %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return -1, err
	}
	var read, share sql.NullFloat64
	into := make([]any, len(columns))
	for i, name := range columns {
		switch name {
		case "rows":
			into[i] = &read
		case "filtered":
			into[i] = &share
		default:
			into[i] = new(sql.RawBytes)
		}
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return -1, err
		}
	}
	if err := rows.Err(); err != nil || !read.Valid || !share.Valid {
		return -1, err
	}
	return int64(read.Float64 * share.Float64 / 100), nil
}
