package facts

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Load is how much the server has written until a moment. What the account may not see stays 0.
type Load struct {
	At time.Time
	// Redo is in bytes, with complete blocks and their repeated writes (Innodb_os_log_written).
	Redo   int64
	Binlog int64 // bytes in all existing files
	Writes int64 // rows of the given table
}

// ReadLoad reads what the server has written.
func ReadLoad(ctx context.Context, q schema.Querier, table schema.Name) (Load, error) {
	l := Load{At: time.Now()}
	var name string
	err := q.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'").Scan(&name, &l.Redo)
	if err != nil {
		return l, fmt.Errorf("read what goes to the redo log: %w", err)
	}
	if err := l.readBinlog(ctx, q); err != nil {
		return l, fmt.Errorf("read the size of the binlog: %w", err)
	}
	err = q.QueryRowContext(ctx, `
		SELECT IFNULL(SUM(count_write), 0) FROM performance_schema.table_io_waits_summary_by_table
		 WHERE object_schema = ? AND object_name = ?`, table.Schema, table.Table).Scan(&l.Writes)
	if _, err = seen(err); err != nil {
		return l, fmt.Errorf("read how much is written to %s: %w", table, err)
	}
	return l, nil
}

// WatchLoad returns how much the server writes per second, and to the table, over a time.
func WatchLoad(ctx context.Context, q schema.Querier, table schema.Name, over time.Duration) (redo, binlog, writes float64, err error) {
	before, err := ReadLoad(ctx, q, table)
	if err == nil {
		err = dbconn.Sleep(ctx, over)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	after, err := ReadLoad(ctx, q, table)
	if err != nil {
		return 0, 0, 0, err
	}
	redo, binlog, writes = after.Since(before)
	return redo, binlog, writes, nil
}

func (l *Load) readBinlog(ctx context.Context, q schema.Querier) error {
	rows, err := q.QueryContext(ctx, "SHOW BINARY LOGS")
	if dbconn.NoBinlog(err) {
		return nil
	}
	if ok, err := seen(err); !ok {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var size int64
		if err := dbconn.ScanFirst(rows, &name, &size); err != nil {
			return err
		}
		l.Binlog += size
	}
	return rows.Err()
}

// Since returns the writes per second since an earlier moment.
func (l Load) Since(before Load) (redo, binlog, writes float64) {
	seconds := max(1e-3, l.At.Sub(before.At).Seconds())
	per := func(now, then int64) float64 { return max(0, float64(now-then)/seconds) }
	return per(l.Redo, before.Redo), per(l.Binlog, before.Binlog), per(l.Writes, before.Writes)
}

// FileBytes returns the size of a table's files. It returns 0 if the account may not see the size
// (PROCESS), or if InnoDB's views spell the name differently.
func FileBytes(ctx context.Context, q schema.Querier, table schema.Name) (bytes int64, err error) {
	name, ok := plan.InnoDBName(table)
	if !ok {
		return 0, nil
	}
	err = FromInnoDB(ctx, func(views string) error {
		return q.QueryRowContext(ctx, "SELECT IFNULL(SUM(file_size), 0) FROM information_schema."+views+"tablespaces"+files(name)).Scan(&bytes)
	})
	if ok, err := seen(err); !ok {
		return 0, err
	}
	return bytes, nil
}

// LeafBytes returns the size of the pages that hold a table's rows and index entries, as of its
// last ANALYZE. If the account may not read the statistics, it returns the table's allocated size.
func LeafBytes(ctx context.Context, q schema.Querier, table schema.Name) (bytes float64, err error) {
	err = q.QueryRowContext(ctx, `
		SELECT IFNULL(SUM(stat_value), 0) * @@innodb_page_size FROM mysql.innodb_index_stats
		 WHERE database_name = ? AND stat_name = 'n_leaf_pages' AND (table_name = ? OR LEFT(table_name, ?) IN (?, ?))`,
		table.Schema, table.Table, len(table.Table)+3, table.Table+"#p#", table.Table+"#P#").Scan(&bytes)
	if ok, err := seen(err); err != nil || ok && bytes > 0 {
		return bytes, err
	}
	err = q.QueryRowContext(ctx, `
		SELECT data_length + index_length FROM information_schema.tables WHERE table_schema = ? AND table_name = ?`,
		table.Schema, table.Table).Scan(&bytes)
	return bytes, err
}
