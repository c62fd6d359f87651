package capture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/schema"
)

// Executed reads the GTIDs of the transactions that the server has committed; "" if it has none.
// MariaDB reports only transactions that it has logged.
func Executed(ctx context.Context, db *sql.DB) (string, error) {
	var set string
	if err := db.QueryRowContext(
		ctx,
		"SELECT /*!50700 @@GLOBAL.gtid_executed *//*M! @@GLOBAL.gtid_binlog_state */",
	).Scan(
		&set,
	); err != nil {
		return "", fmt.Errorf("read gtid_executed: %w", err)
	}
	return strings.ReplaceAll(set, "\n", ""), nil
}

// HasExecuted reports whether the server has committed all transactions of a set. It waits up to
// the given time for transactions that were received and are not yet applied.
func HasExecuted(ctx context.Context, db *sql.DB, gtids string, wait time.Duration) (bool, error) {
	deadline := time.Now().Add(wait)
	for {
		executed, err := Executed(ctx, db)
		if err != nil {
			return false, err
		}
		has, err := within(gtids, executed)
		if err != nil {
			return false, err
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

// within reports whether each GTID of a set is in another set.
func within(gtids, of string) (bool, error) {
	set, err := binlog.ParseGTIDs(gtids)
	if err != nil {
		return false, err
	}
	all, err := binlog.ParseGTIDs(of)
	if err != nil {
		return false, err
	}
	return set.In(&all), nil
}

// HasRest reports whether the server has, in its binlogs, all its transactions that are not in the
// set: none of them was purged, or committed without a binlog.
func HasRest(ctx context.Context, db *sql.DB, gtids string) (bool, error) {
	purged, err := purged(ctx, db)
	if err != nil {
		return false, err
	}
	return within(purged, gtids)
}

// purged returns the GTIDs of the transactions that are in no binlog. MariaDB lists them at the
// head of its oldest binlog.
func purged(ctx context.Context, db *sql.DB) (gtids string, err error) {
	var inHead bool
	if err := db.QueryRowContext(
		ctx,
		"SELECT /*!50700 REPLACE(@@GLOBAL.gtid_purged, '\n', ''), 0 *//*M! '', 1 */",
	).Scan(
		&gtids, &inHead,
	); err != nil {
		return "", fmt.Errorf("read gtid_purged: %w", err)
	}
	if !inHead {
		return gtids, nil
	}
	files, err := logs(ctx, db)
	if err != nil || len(files) == 0 {
		return "", err
	}
	return gtidsBefore(ctx, db, files[0].name)
}

// Behind finds where to begin in the server's binlog to receive each transaction that is not in the
// set. The reader may also receive some that are in the set. Behind returns the latest start of a
// file with no other transactions before it. It returns the zero Position if the server no longer
// has all of them.
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
		is, err := within(before, gtids)
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

// gtidsBefore returns the GTIDs of the transactions in the binlogs before a file. The file lists
// them at its head.
func gtidsBefore(ctx context.Context, db *sql.DB, file string) (string, error) {
	rows, err := db.QueryContext(ctx, "SHOW BINLOG EVENTS IN "+schema.Literal(file)+" LIMIT 4")
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
		switch kind {
		case "Previous_gtids":
			return info, rows.Err()
		case "Gtid_list": // MariaDB's, in brackets
			return strings.Trim(info, "[]"), rows.Err()
		}
	}
	return "", errors.Join(rows.Err(), fmt.Errorf("binlog %s does not show which transactions precede it", file))
}
