package dbconn

import (
	"database/sql"
	"slices"
)

// ScanFirst reads the first columns of a row of a SHOW or a CALL. The columns behind them differ from version to version.
func ScanFirst(rows *sql.Rows, first ...any) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	targets := slices.Clone(first)
	for len(targets) < len(columns) {
		targets = append(targets, new(sql.RawBytes))
	}
	return rows.Scan(targets...)
}
