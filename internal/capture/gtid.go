package capture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/binlog"
	"midstream/internal/schema"
)

// Executed reads the GTIDs of the transactions that the server has committed; "" if it has none, and of MariaDB, whose
// GTIDs are others.
func Executed(ctx context.Context, db *sql.DB) (string, error) {
	var set string
	if err := db.QueryRowContext(ctx, "SELECT /*!50700 @@GLOBAL.gtid_executed *//*M! '' */").Scan(&set); err != nil {
		return "", fmt.Errorf("read gtid_executed: %w", err)
	}
	return strings.ReplaceAll(set, "\n", ""), nil
}

// HasExecuted says whether the server has committed all transactions of a set, and waits so
// long for those that it has received and not yet applied.
func HasExecuted(ctx context.Context, db *sql.DB, gtids string, wait time.Duration) (bool, error) {
	deadline := time.Now().Add(wait)
	for {
		var has bool
		if err := db.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, @@GLOBAL.gtid_executed)", gtids).Scan(&has); err != nil {
			return false, fmt.Errorf("compare GTIDs: %w", err)
		}
		if has || time.Now().After(deadline) {
			return has, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// within says that each GTID of a set is in another one.
func within(ctx context.Context, db *sql.DB, gtids, of string) (is bool, err error) {
	if err = db.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, ?)", gtids, of).Scan(&is); err != nil {
		return false, fmt.Errorf("compare GTIDs: %w", err)
	}
	return is, nil
}

// HasRest says whether the server has all its transactions that are not in the set in its binlogs:
// none of them was purged, or committed with no binlog.
func HasRest(ctx context.Context, db *sql.DB, gtids string) (bool, error) {
	var purged string
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_purged").Scan(&purged); err != nil {
		return false, fmt.Errorf("read gtid_purged: %w", err)
	}
	return within(ctx, db, purged, gtids)
}

// Behind finds where in the server's binlog to begin in order to receive each transaction that
// is not in the set, and perhaps some that are: the latest beginning of a file before which there
// are no others. It returns the zero Position where the server no longer has all of them.
func Behind(ctx context.Context, db *sql.DB, gtids string) (binlog.Position, error) {
	if all, err := HasRest(ctx, db, gtids); err != nil || !all {
		return binlog.Position{}, err
	}
	files, err := logs(ctx, db)
	if err != nil {
		return binlog.Position{}, err
	}
	for i := len(files) - 1; i >= 0; i-- {
		before, err := gtidsBefore(ctx, db, files[i].name)
		if err != nil {
			return binlog.Position{}, err
		}
		is, err := within(ctx, db, before, gtids)
		if err != nil {
			return binlog.Position{}, err
		}
		if is {
			return binlog.Position{File: files[i].name, Offset: fileHead}, nil
		}
	}
	return binlog.Position{}, nil
}

// fileHead is the length of the magic number at the head of a binlog file.
const fileHead = 4

// gtidsBefore returns the GTIDs of the transactions in the binlogs before a file, which it tells
// at its head.
func gtidsBefore(ctx context.Context, db *sql.DB, file string) (string, error) {
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
