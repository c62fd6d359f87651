package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// CaptureFacts are what GatherCapture reads of a replica whose binlog is to be read in place of the
// source's.
type CaptureFacts struct {
	Address string // as the operator gave it
	Version Version
	UUID    string

	LogBin            bool
	LogReplicaUpdates bool
	BinlogFormat      string
	RowImage          string
	BinlogDoDB        []string
	BinlogSkipDB      []string
	GTID              bool
	SyncBinlog        int64
	Group             bool

	Workers        int64  // that apply what it receives
	PreservesOrder bool   // they commit, and log, in the order of the source
	ExecMode       string // IDEMPOTENT passes over rows that are not there
	SkipErrors     string // numbers of errors that are passed over; OFF for none

	Channels []Channel
	Grants   Grants
	Columns  []schema.Column // of the table there; nil if there is none
}

// Channel is one connection of a replica to a server that it replicates from.
type Channel struct {
	Name       string
	SourceUUID string
	Source     string // host:port, as this server reaches it
	Running    bool   // both of its threads
	Started    bool   // one of them at least
	stopped    bool   // one of them is not started
	receives   bool   // the one that receives is started
	Error      string // of the last that has stopped
	Delay      int64  // that is meant, in seconds
	unapplied  bool   // it has received what it has not applied, by the places in the other server's binlog
	// DatabaseFilters says that statements are filtered by their session's database, or databases renamed.
	DatabaseFilters bool
	Tables          TableFilters
}

// TableFilters are lists of tables, as database.table; the wild ones are patterns.
type TableFilters struct{ Do, Ignore, WildDo, WildIgnore []string }

// captureVariables are the names that GatherCapture asks for.
var captureVariables = []string{"version", "server_uuid", "log_bin", "log_replica_updates", "log_slave_updates", "binlog_format",
	"binlog_row_image", "gtid_mode", "sync_binlog", "group_replication_group_name",
	"replica_parallel_workers", "slave_parallel_workers", "replica_preserve_commit_order", "slave_preserve_commit_order",
	"replica_exec_mode", "slave_exec_mode", "replica_skip_errors", "slave_skip_errors", "partial_revokes"}

// GatherCapture reads the facts of a replica. It reads only, and little: a run repeats it.
func GatherCapture(ctx context.Context, q schema.Querier, address string) (*CaptureFacts, error) {
	f := &CaptureFacts{Address: address}
	for _, step := range []struct {
		what string
		read func() error
	}{
		{"the replica's variables", func() error { return f.readVariables(ctx, q) }},
		{"the replica's binlog filters", func() error { return f.readFilters(ctx, q) }},
		{"the replica's channels", func() (err error) { f.Channels, err = channels(ctx, q, f.Version); return err }},
	} {
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return f, nil
}

// ReadTable reads what a plan needs besides: the table as the replica has it, and the account.
func (f *CaptureFacts) ReadTable(ctx context.Context, q schema.Querier, table schema.Name) error {
	there, err := schema.Load(ctx, q, table)
	switch {
	case err == nil:
		f.Columns = there.Columns
	case !errors.Is(err, schema.ErrNotFound):
		return fmt.Errorf("read %s on replica %s: %w", table, f.Address, err)
	}
	account := Facts{Version: f.Version, Grants: f.Grants}
	if err := account.readAccount(ctx, q); err != nil {
		return fmt.Errorf("read the account on replica %s: %w", f.Address, err)
	}
	f.Grants = account.Grants
	return nil
}

func (f *CaptureFacts) readVariables(ctx context.Context, q schema.Querier) error {
	v, err := readSettings(ctx, q, captureVariables)
	if err != nil {
		return err
	}
	if f.Version, err = ParseVersion(v["version"]); err != nil {
		return err
	}
	f.UUID = v["server_uuid"]
	f.LogBin = v.on("log_bin")
	f.LogReplicaUpdates = v.on("log_replica_updates") || v.on("log_slave_updates")
	f.BinlogFormat = strings.ToUpper(v["binlog_format"])
	f.RowImage = strings.ToUpper(v["binlog_row_image"])
	f.GTID = v.on("gtid_mode") || f.Version.MariaDB // which has GTIDs always
	f.SyncBinlog = v.number("sync_binlog")
	f.Group = v["group_replication_group_name"] != ""
	f.Workers = max(v.number("replica_parallel_workers"), v.number("slave_parallel_workers"))
	f.PreservesOrder = v.on("replica_preserve_commit_order") || v.on("slave_preserve_commit_order")
	f.ExecMode = strings.ToUpper(v["replica_exec_mode"] + v["slave_exec_mode"])
	f.SkipErrors = strings.ToUpper(v["replica_skip_errors"])
	if f.SkipErrors == "" {
		f.SkipErrors = strings.ToUpper(v["slave_skip_errors"])
	}
	f.Grants.LiteralNames = v.on("partial_revokes")
	return nil
}

func (f *CaptureFacts) readFilters(ctx context.Context, q schema.Querier) error {
	facts := Facts{Version: f.Version}
	err := facts.readFilters(ctx, q)
	f.BinlogDoDB, f.BinlogSkipDB = facts.BinlogDoDB, facts.BinlogSkipDB
	return err
}

// Sources are the channels by which a server replicates, started or not, without Group Replication's own.
func Sources(ctx context.Context, q schema.Querier) ([]Channel, error) {
	version, err := ReadVersion(ctx, q)
	if err != nil {
		return nil, err
	}
	return channels(ctx, q, version)
}

// LackedBySources is the privilege without which Sources is denied, with its GRANT.
func LackedBySources(ctx context.Context, q schema.Querier) (Risk, error) {
	f := &Facts{}
	version, err := ReadVersion(ctx, q)
	if err == nil {
		err = q.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&f.User)
	}
	privilege := "REPLICATION CLIENT"
	if version.MariaDB {
		privilege = "REPLICA MONITOR"
	}
	c := checker{facts: f}
	what, fix := c.lack([]string{privilege}, "*.*")
	return Risk{Code: CodeGrants, What: what, Why: "from whom a server replicates is read with it", Fix: fix, Blocking: true}, err
}

// StandsStill says that a server which replicates has a thread for it that is not started.
func StandsStill(ctx context.Context, q schema.Querier) (still bool, err error) {
	version, err := ReadVersion(ctx, q)
	if err != nil {
		return false, err
	}
	if !version.MariaDB {
		err = q.QueryRowContext(
			ctx,
			`SELECT (SELECT COUNT(*) FROM performance_schema.replication_connection_status WHERE service_state = 'OFF') +
			(SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE service_state = 'OFF') > 0`,
		).Scan(
			&still,
		)
		return still, err
	}
	list, err := channels(ctx, q, version)
	return slices.ContainsFunc(list, func(c Channel) bool { return c.stopped }), err
}

// MeantDelay is how far a server shall be behind the one that it replicates (SOURCE_DELAY), at most.
func MeantDelay(ctx context.Context, q schema.Querier) (delay time.Duration, err error) {
	version, err := ReadVersion(ctx, q)
	if err != nil {
		return 0, err
	}
	var seconds int64
	if !version.MariaDB {
		err = q.QueryRowContext(
			ctx, "SELECT COALESCE(MAX(desired_delay), 0) FROM performance_schema.replication_applier_configuration",
		).Scan(
			&seconds,
		)
		return time.Duration(seconds) * time.Second, err
	}
	list, err := channels(ctx, q, version)
	for _, c := range list {
		seconds = max(seconds, c.Delay)
	}
	return time.Duration(seconds) * time.Second, err
}

// channels are those of a server, without Group Replication's own. Columns are taken by name: they
// were renamed, and each version has others.
func channels(ctx context.Context, q schema.Querier, v Version) (list []Channel, err error) {
	rows, err := q.QueryContext(ctx, v.replicaStatusStatement())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, targets := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, name := range names {
			row[strings.NewReplacer("slave", "replica", "master", "source").Replace(strings.ToLower(name))] = values[i].String
		}
		if c := channelOf(row); !c.ofGroup() {
			list = append(list, c)
		}
	}
	return list, rows.Err()
}

// channelOf reads one row of a replica's status.
func channelOf(row map[string]string) Channel {
	delay, _ := strconv.ParseInt(row["sql_delay"], 10, 64)
	return Channel{
		Name:            row["channel_name"],
		SourceUUID:      row["source_uuid"],
		Source:          net.JoinHostPort(row["source_host"], row["source_port"]),
		Delay:           delay,
		Running:         row["replica_io_running"] == "Yes" && row["replica_sql_running"] == "Yes",
		Started:         onOrTrying(row["replica_io_running"]) || onOrTrying(row["replica_sql_running"]),
		receives:        onOrTrying(row["replica_io_running"]),
		stopped:         !onOrTrying(row["replica_io_running"]) || !onOrTrying(row["replica_sql_running"]),
		Error:           strings.TrimSpace(row["last_io_error"] + " " + row["last_sql_error"]),
		unapplied:       row["source_log_file"]+":"+row["read_source_log_pos"] != row["relay_source_log_file"]+":"+row["exec_source_log_pos"],
		DatabaseFilters: row["replicate_do_db"]+row["replicate_ignore_db"]+row["replicate_rewrite_db"] != "",
		Tables: TableFilters{
			Do: databases(row["replicate_do_table"]), Ignore: databases(row["replicate_ignore_table"]),
			WildDo: databases(row["replicate_wild_do_table"]), WildIgnore: databases(row["replicate_wild_ignore_table"]),
		},
	}
}

// onOrTrying reads a thread's state: Yes, No, or Connecting.
func onOrTrying(state string) bool { return state != "" && state != "No" }

// ofGroup says that the channel is one of Group Replication's own.
func (c Channel) ofGroup() bool { return strings.HasPrefix(c.Name, "group_replication_") }

// hides says that the filters keep a table's rows away. The server looks at them in this order.
func (t TableFilters) hides(table schema.Name) bool {
	name := table.Schema + "." + table.Table
	in := func(list []string) bool {
		for _, l := range list {
			if l == name {
				return true
			}
		}
		return false
	}
	matches := func(list []string) bool {
		for _, l := range list {
			if like(l, name) {
				return true
			}
		}
		return false
	}
	switch {
	case in(t.Do):
		return false
	case in(t.Ignore):
		return true
	case matches(t.WildDo):
		return false
	case matches(t.WildIgnore):
		return true
	}
	return len(t.Do)+len(t.WildDo) > 0
}
