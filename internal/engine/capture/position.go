package capture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Now asks the server for the end of its binlog. NB: changes before it may not be visible
// yet (law L1: a heartbeat is committed before the first row is read).
func Now(ctx context.Context, db *sql.DB) (Point, error) { return now(ctx, db, endStatements()) }

// NowOn is Now for a server of which it is known whether it is a MySQL 8.2 or later: each round trip counts.
func NowOn(ctx context.Context, db *sql.DB, modern bool) (Point, error) {
	if modern {
		return now(ctx, db, endStatements()[:1])
	}
	return now(ctx, db, endStatements()[1:])
}

func now(ctx context.Context, db *sql.DB, statements []string) (Point, error) {
	// Read the set first: its transactions come before a position that is read later.
	gtids, err := Executed(ctx, db)
	if err != nil {
		return Point{}, err
	}
	p := Point{}
	if p.GTIDs, err = binlog.ParseGTIDs(gtids); err != nil {
		return Point{}, err
	}
	p.Position, err = end(ctx, db, statements)
	return p, err
}

// End asks the server for the end of its binlog: everything committed before the call is before it.
func End(ctx context.Context, db *sql.DB) (binlog.Position, error) {
	return end(ctx, db, endStatements())
}

// endStatements ask for it: MySQL 8.2 renamed the statement, 8.4 dropped the old name.
func endStatements() []string { return []string{"SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"} }

func end(ctx context.Context, db *sql.DB, statements []string) (binlog.Position, error) {
	var failed error
	for _, statement := range statements {
		position, err := showPosition(ctx, db, statement)
		if err == nil {
			return position, nil
		}
		failed = errors.Join(failed, err)
		if !dbconn.SyntaxError(err) {
			break
		}
	}
	return binlog.Position{}, fmt.Errorf("read the binlog's position: %w", failed)
}

func showPosition(ctx context.Context, db *sql.DB, statement string) (binlog.Position, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return binlog.Position{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		return binlog.Position{}, errors.Join(rows.Err(), errors.New("the server has no binlog"))
	}
	var p binlog.Position
	return p, dbconn.ScanFirst(rows, &p.File, &p.Offset)
}

// Available reports whether the server still has its binlog from a point on. After a reset, a binlog has the name of an
// earlier one: then the position is rarely between two events, or the transaction behind it is one of those before the point.
func Available(ctx context.Context, db *sql.DB, from Point) (bool, error) {
	files, err := logs(ctx, db)
	if dbconn.NoBinlog(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(files, func(f log) bool { return f.name == from.Position.File && from.Position.Offset <= f.size })
	if i < 0 || from.Position.Offset == files[i].size {
		return i >= 0, nil
	}
	return continues(ctx, db, from)
}

// continues reports whether the event at a position can be the first one after the point.
func continues(ctx context.Context, db *sql.DB, from Point) (bool, error) {
	rows, err := db.QueryContext(
		ctx, fmt.Sprintf("SHOW BINLOG EVENTS IN %s FROM %d LIMIT 1", schema.Literal(from.Position.File), from.Position.Offset),
	)
	if err == nil {
		defer rows.Close()
		var file, kind, server, end, info sql.RawBytes
		var at uint64
		for rows.Next() {
			if err := dbconn.ScanFirst(rows, &file, &at, &kind, &server, &end, &info); err != nil {
				return false, fmt.Errorf("show an event of the binlog: %w", err)
			}
			if at != from.Position.Offset || before(string(info), from.GTIDs) {
				return false, nil
			}
		}
		err = rows.Err()
	}
	switch {
	case dbconn.NoBinlogEvent(err):
		return false, nil
	case err == nil, dbconn.Denied(err): // the reader will find out
		return true, nil
	}
	return false, fmt.Errorf("show an event of the binlog: %w", err)
}

// before reports whether the text of an event is that of a GTID in a set: 'uuid:7' on MySQL, GTID 0-1-7 on MariaDB.
func before(info string, set binlog.GTIDs) bool {
	_, text, found := strings.Cut(info, "GTID_NEXT= '")
	if !found {
		_, text, found = strings.Cut(info, "GTID ")
	}
	if text = text[:len(text)-len(strings.TrimLeft(text, "0123456789abcdefghijklmnopqrstuvwxyz_:-"))]; !found || text == "" {
		return false
	}
	one, err := binlog.ParseGTIDs(text)
	return err == nil && one.In(&set)
}

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
	var files []log
	for rows.Next() {
		var file log
		if err := dbconn.ScanFirst(rows, &file.name, &file.size); err != nil {
			return nil, fmt.Errorf("list the binlogs: %w", err)
		}
		files = append(files, file)
	}
	return files, rows.Err()
}

// PreparedXA lists the XA transactions that are prepared now. Their rows are in the binlog already,
// and become visible later.
func PreparedXA(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, "XA RECOVER /*!50700 CONVERT XID *//*M! FORMAT='SQL' */")
	if err != nil {
		return nil, fmt.Errorf("list prepared XA transactions: %w", err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var format, global, branch, data string
		if err := rows.Scan(&format, &global, &branch, &data); err != nil {
			return nil, fmt.Errorf("list prepared XA transactions: %w", err)
		}
		list = append(list, fmt.Sprintf("%s:%s:%s:%s", format, global, branch, data))
	}
	return list, rows.Err()
}
