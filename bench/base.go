package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/lab/sandbox"
)

const (
	database  = "sbtest"
	tableName = "sbtest1"
	table     = database + "." + tableName
)

// base is a prepared table in the data folder of a stopped server. Equal servers are started from
// it.
type base struct {
	build    *sandbox.Build
	dir      string // has base/, and run/ with a server
	settings map[string]string
	rows     int
	bytes    int64 // of the table and its index
}

// prepare fills a table of sysbench's with the rows and leaves its data folder in dir.
func prepare(ctx context.Context, build *sandbox.Build, sysbench *program, dir string, o options, say func(string, ...any)) (*base, error) {
	b := &base{build: build, dir: dir, settings: o.settings, rows: o.rows}
	say("preparing %d rows", o.rows)
	// No binlog and no fsync while nothing is measured.
	hasty := maps.Clone(o.settings)
	hasty["skip_log_bin"] = ""
	db, err := build.Start(ctx, sandbox.Options{Dir: filepath.Join(dir, "base"), Settings: hasty})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Stop(context.WithoutCancel(ctx)) }()
	s, err := connect(ctx, db, dir)
	if err != nil {
		return nil, err
	}
	defer s.sql.Close()
	if err := s.exec(ctx, "CREATE DATABASE "+database); err != nil {
		return nil, err
	}
	cmd := sysbench.command(ctx, append(sysbenchArgs(s, "oltp_read_write", o.rows), "prepare")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("prepare the table: %w: %s", err, tail(string(out)))
	}
	// pt-online-schema-change and Midstream size the copy by the statistics.
	if err := s.exec(ctx, "ANALYZE TABLE "+table); err != nil {
		return nil, err
	}
	err = s.sql.QueryRowContext(ctx, `SELECT data_length + index_length FROM information_schema.tables
		WHERE table_schema = ? AND table_name = ?`, database, tableName).Scan(&b.bytes)
	if err != nil {
		return nil, fmt.Errorf("ask for the table's size: %w", err)
	}
	if err := s.quiet(ctx, 2*time.Minute); err != nil {
		return nil, err
	}
	if err := s.exec(ctx, "SET GLOBAL innodb_fast_shutdown = 0"); err != nil {
		return nil, err
	}
	return b, db.Stop(ctx)
}

// server is a running server on a copy of a base.
type server struct {
	db  *sandbox.Server
	sql *sql.DB
	dir string // for files of the run
}

// start starts a server on a fresh copy of the base, durable and with a binlog. The table is in its
// buffer pool (as far as it fits), and the server has no work left.
func (b *base) start(ctx context.Context) (*server, error) { return b.startAs(ctx, "run", nil) }

// startAs is start in the named folder, with more settings.
func (b *base) startAs(ctx context.Context, folder string, settings map[string]string) (*server, error) {
	dir := filepath.Join(b.dir, folder)
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove the last run's folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	if err := run(ctx, "cp", "-a", "--reflink=auto", filepath.Join(b.dir, "base", "data"), filepath.Join(dir, "data")); err != nil {
		return nil, fmt.Errorf("copy the data folder: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, "data", "auto.cnf")); err != nil { // each server needs its own server_uuid
		return nil, fmt.Errorf("make the data folder another server's: %w", err)
	}
	// Otherwise the kernel writes it back during the measurement.
	if err := run(ctx, "sync", "-f", dir); err != nil {
		return nil, fmt.Errorf("write the data folder out: %w", err)
	}
	all := maps.Clone(b.settings)
	maps.Copy(all, settings)
	db, err := b.build.Start(ctx, sandbox.Options{Dir: dir, Durable: true, Settings: all})
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, db, dir)
	if err == nil {
		err = s.warm(ctx)
	}
	if err != nil {
		if s != nil {
			_ = s.discard()
		} else {
			_ = db.Kill()
		}
		return nil, err
	}
	return s, nil
}

func connect(ctx context.Context, db *sandbox.Server, dir string) (*server, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", db.Address, db.User
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	s := &server{db: db, sql: sql.OpenDB(connector), dir: dir}
	s.sql.SetMaxIdleConns(16)
	if err := s.sql.PingContext(ctx); err != nil {
		s.sql.Close()
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return s, nil
}

// warm reads the table and its index once and waits for quiet.
func (s *server) warm(ctx context.Context) error {
	for _, read := range []string{
		"SELECT SUM(LENGTH(pad)) FROM " + table + " FORCE INDEX (PRIMARY)",
		"SELECT SUM(k) FROM " + table + " FORCE INDEX (k_1)",
	} {
		var sum sql.NullFloat64
		if err := s.sql.QueryRowContext(ctx, read).Scan(&sum); err != nil {
			return fmt.Errorf("warm the buffer pool: %w", err)
		}
	}
	return s.quiet(ctx, time.Minute)
}

// quiet waits until purge is done and almost no page is dirty, or until the patience is over: then
// the server is measured in its current state.
func (s *server) quiet(ctx context.Context, patience time.Duration) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var dirty, history int64
		err := s.sql.QueryRowContext(ctx, `SELECT
			(SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'),
			(SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len')`).Scan(&dirty, &history)
		if err != nil {
			return fmt.Errorf("wait for the server to become quiet: %w", err)
		}
		if dirty < 100 && history < 50 {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) exec(ctx context.Context, statement string) error {
	if _, err := s.sql.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// binlogBytes is the size of all binlogs, in bytes. The server is fresh: nothing was purged.
func (s *server) binlogBytes(ctx context.Context) (int64, error) {
	rows, err := s.sql.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return 0, fmt.Errorf("ask for the binlogs: %w", err)
	}
	defer rows.Close()
	var total int64
	for rows.Next() {
		var name, encrypted string
		var size int64
		if err := rows.Scan(&name, &size, &encrypted); err != nil {
			return 0, fmt.Errorf("ask for the binlogs: %w", err)
		}
		total += size
	}
	return total, rows.Err()
}

// variables returns the server's version and the settings that matter for speed.
func (s *server) variables(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string)
	for _, name := range []string{"version", "version_comment", "innodb_buffer_pool_size", "innodb_redo_log_capacity", "sync_binlog",
		"innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_flush_method", "log_bin", "binlog_row_image"} {
		var value string
		if err := s.sql.QueryRowContext(ctx, "SELECT @@GLOBAL."+name).Scan(&value); err != nil {
			return nil, fmt.Errorf("ask for %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

// discard kills the server, which needs no clean shutdown, and removes its data.
func (s *server) discard() error {
	s.sql.Close()
	if err := s.db.Kill(); err != nil { // returns when its process is gone
		return err
	}
	if err := s.db.Stop(context.Background()); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	return nil
}

// port is the port that the programs use.
func (s *server) port() string { return strconv.Itoa(s.db.Port) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
