package capture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"midstream/internal/binlog"
	"midstream/internal/schema"
)

// GTIDsBefore returns the set of the transactions that stand in the binlogs before a file of the
// server's, as the file itself tells at its head.
func GTIDsBefore(ctx context.Context, db *sql.DB, file string) (string, error) {
	rows, err := db.QueryContext(ctx, "SHOW BINLOG EVENTS IN "+schema.Literal(file)+" LIMIT 3")
	if err != nil {
		return "", fmt.Errorf("read the head of binlog %s: %w", file, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind, info string
		var at, server, end uint64
		if err := rows.Scan(&name, &at, &kind, &server, &end, &info); err != nil {
			return "", fmt.Errorf("read the head of binlog %s: %w", file, err)
		}
		if kind == "Previous_gtids" {
			return info, rows.Err()
		}
	}
	return "", errors.Join(rows.Err(), fmt.Errorf("binlog %s does not tell which transactions come before it", file))
}

// Behind returns the latest beginning of a binlog file of the server's before which there are no
// other transactions than those of a set, or the zero Position if it has none: whoever reads from
// there gets every transaction that is not in the set, and perhaps some that are.
func Behind(ctx context.Context, db *sql.DB, gtids string) (binlog.Position, error) {
	files, err := logs(ctx, db)
	if err != nil {
		return binlog.Position{}, err
	}
	for i := len(files) - 1; i >= 0; i-- {
		before, err := GTIDsBefore(ctx, db, files[i].name)
		if err != nil {
			return binlog.Position{}, err
		}
		var within bool
		if err := db.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, ?)", before, gtids).Scan(&within); err != nil {
			return binlog.Position{}, fmt.Errorf("compare GTIDs: %w", err)
		}
		if within {
			return binlog.Position{File: files[i].name, Offset: fileHead}, nil
		}
	}
	return binlog.Position{}, nil
}

// fileHead is the length of the magic number at the head of a binlog file.
const fileHead = 4

// log is a binlog file of a server's.
type log struct {
	name string
	size uint64
}

// logs lists the binlog files, the oldest first.
func logs(ctx context.Context, db *sql.DB) ([]log, error) {
	rows, err := db.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return nil, fmt.Errorf("list the binlogs: %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("list the binlogs: %w", err)
	}
	var files []log
	for rows.Next() {
		var file log
		targets := make([]any, len(columns))
		for i := range targets {
			targets[i] = new(sql.RawBytes)
		}
		targets[0], targets[1] = &file.name, &file.size
		if err := rows.Scan(targets...); err != nil {
			return nil, fmt.Errorf("list the binlogs: %w", err)
		}
		files = append(files, file)
	}
	return files, rows.Err()
}
