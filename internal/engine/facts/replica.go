package facts

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

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// captureVariables are the names that GatherCapture asks for.
var captureVariables = []string{"version", "server_uuid", "log_bin", "log_replica_updates", "log_slave_updates", "binlog_format",
	"binlog_row_image", "gtid_mode", "sync_binlog", "group_replication_group_name",
	"replica_parallel_workers", "slave_parallel_workers", "replica_preserve_commit_order", "slave_preserve_commit_order",
	"replica_exec_mode", "slave_exec_mode", "replica_skip_errors", "slave_skip_errors", "partial_revokes"}

// GatherCapture reads the facts of a replica. It reads only, and little: a run repeats it.
func GatherCapture(ctx context.Context, q schema.Querier, address string) (*plan.CaptureFacts, error) {
	f := replica{&plan.CaptureFacts{Address: address}}
	for _, step := range []struct {
		what string
		read func() error
	}{
		{"the replica's variables", func() error { return f.readVariables(ctx, q) }},
		{"the replica's binlog filters", func() error { return f.readFilters(ctx, q) }},
		{"the replica's channels", func() (err error) { f.Channels, err = plain(channels(ctx, q, f.Version)); return err }},
	} {
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return f.CaptureFacts, nil
}

// replica reads the facts of a replica.
type replica struct{ *plan.CaptureFacts }

// plain are the channels as a plan knows them.
func plain(list []channel, err error) (all []plan.Channel, failed error) {
	for _, c := range list {
		all = append(all, c.Channel)
	}
	return all, err
}

// ReadTable adds to the facts of a replica what only a plan needs: the table as the replica has it, and
// the account.
func ReadTable(ctx context.Context, q schema.Querier, f *plan.CaptureFacts, table schema.Name) error {
	there, err := schema.Load(ctx, q, table)
	switch {
	case err == nil:
		f.Columns = there.Columns
	case !errors.Is(err, schema.ErrNotFound):
		return fmt.Errorf("read %s on replica %s: %w", table, f.Address, err)
	}
	account := gatherer{&plan.Facts{Version: f.Version, Grants: f.Grants}}
	if err := account.readAccount(ctx, q); err != nil {
		return fmt.Errorf("read the account on replica %s: %w", f.Address, err)
	}
	f.Grants = account.Grants
	return nil
}

func (f replica) readVariables(ctx context.Context, q schema.Querier) error {
	v, err := readSettings(ctx, q, captureVariables)
	if err != nil {
		return err
	}
	if f.Version, err = plan.ParseVersion(v["version"]); err != nil {
		return err
	}
	f.UUID = v["server_uuid"]
	f.LogBin = v.on("log_bin")
	f.LogReplicaUpdates = v.on("log_replica_updates") || v.on("log_slave_updates")
	f.BinlogFormat = strings.ToUpper(v["binlog_format"])
	f.RowImage = strings.ToUpper(v["binlog_row_image"])
	f.GTID = v.on("gtid_mode") || f.Version.MariaDB // MariaDB always has GTIDs
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

func (f replica) readFilters(ctx context.Context, q schema.Querier) error {
	facts := gatherer{&plan.Facts{Version: f.Version}}
	err := facts.readFilters(ctx, q)
	f.BinlogDoDB, f.BinlogSkipDB = facts.BinlogDoDB, facts.BinlogSkipDB
	return err
}

// Sources returns the channels through which a server replicates, started or not, without Group
// Replication's own.
func Sources(ctx context.Context, q schema.Querier) ([]plan.Channel, error) {
	version, err := ReadVersion(ctx, q)
	if err != nil {
		return nil, err
	}
	return plain(channels(ctx, q, version))
}

// LackedBySources is the privilege that Sources needs and the account lacks, with its GRANT.
func LackedBySources(ctx context.Context, q schema.Querier) (plan.Risk, error) {
	f := &plan.Facts{}
	version, err := ReadVersion(ctx, q)
	if err == nil {
		err = q.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&f.User)
	}
	f.Version = version
	return plan.LackedBySources(f), err
}

// StandsStill reports whether a server that replicates has a thread for it that is not started.
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
	return slices.ContainsFunc(list, func(c channel) bool { return c.stopped }), err
}

// MeantDelay returns how far a server should be behind its source (SOURCE_DELAY), at most.
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

// channels returns the channels of a server, without Group Replication's own. It takes columns by
// name: they were renamed, and each version has others.
func channels(ctx context.Context, q schema.Querier, v plan.Version) (list []channel, err error) {
	rows, err := q.QueryContext(ctx, replicaStatusStatement(v))
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

// channel is a plan.Channel and what only this package asks of it.
type channel struct {
	plan.Channel
	// stopped means that one of its threads is not started.
	stopped  bool
	receives bool // the receiving thread is started
	// unapplied means that it has received more than it has applied, by places in its source's
	// binlog.
	unapplied bool
}

// channelOf reads one row of a replica's status.
func channelOf(row map[string]string) channel {
	delay, _ := strconv.ParseInt(row["sql_delay"], 10, 64)
	return channel{
		Channel: plan.Channel{
			Name:            row["channel_name"],
			SourceUUID:      row["source_uuid"],
			Source:          net.JoinHostPort(row["source_host"], row["source_port"]),
			Delay:           delay,
			Running:         row["replica_io_running"] == "Yes" && row["replica_sql_running"] == "Yes",
			Started:         onOrTrying(row["replica_io_running"]) || onOrTrying(row["replica_sql_running"]),
			Error:           strings.TrimSpace(row["last_io_error"] + " " + row["last_sql_error"]),
			DatabaseFilters: row["replicate_do_db"]+row["replicate_ignore_db"]+row["replicate_rewrite_db"] != "",
			Tables: plan.TableFilters{
				Do: databases(row["replicate_do_table"]), Ignore: databases(row["replicate_ignore_table"]),
				WildDo: databases(row["replicate_wild_do_table"]), WildIgnore: databases(row["replicate_wild_ignore_table"]),
			},
		},
		receives:  onOrTrying(row["replica_io_running"]),
		stopped:   !onOrTrying(row["replica_io_running"]) || !onOrTrying(row["replica_sql_running"]),
		unapplied: row["source_log_file"]+":"+row["read_source_log_pos"] != row["relay_source_log_file"]+":"+row["exec_source_log_pos"],
	}
}

// onOrTrying reads a thread's state: Yes, No, or Connecting.
func onOrTrying(state string) bool { return state != "" && state != "No" }

// ofGroup reports whether the channel is one of Group Replication's own.
func (c channel) ofGroup() bool { return strings.HasPrefix(c.Name, "group_replication_") }
