package facts

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Gather reads the facts of the server, the account, and the names that a run on the
// table would need. It reads only, and takes what it may not see for a fact too: the
// missing privilege is then Make's to report. Names that are wished for artefacts are
// looked at too.
func Gather(ctx context.Context, q schema.Querier, table schema.Name, wished ...string) (*plan.Facts, error) {
	f := gatherer{&plan.Facts{}}
	for _, step := range []struct {
		what string
		read func() error
	}{
		{"the server's variables", func() error { return f.readVariables(ctx, q) }},
		{"whether tables need a primary key", func() error { return f.readRequiresKeys(ctx, q) }},
		{"a round trip", func() error { return f.measureRoundTrip(ctx, q) }},
		{"the server's name", func() error { return q.QueryRowContext(ctx, "SELECT "+schema.ThisServer).Scan(&f.UUID) }},
		{"the account", func() error { return f.readAccount(ctx, q) }},
		{"the limits of connections", func() error { return f.readConnections(ctx, q) }},
		{"how long binlogs are kept", func() error { return f.readRetention(ctx, q) }},
		{"the binlog's filters", func() error { return f.readFilters(ctx, q) }},
		{"the replicas", func() error { return f.readReplicas(ctx, q) }},
		{"performance_schema", func() error { return f.readInstrument(ctx, q) }},
		{"InnoDB's foreign keys", func() error { return f.readReferencing(ctx, q, table) }},
		{"the tables of foreign keys", func() error { return f.readForeign(ctx, q, table) }},
		{"the tables that triggers use", func() error { return f.readTriggered(ctx, q, table) }},
		{"the table's row versions", func() error { return f.readRowVersions(ctx, q, table) }},
		{"how often the table is written to", func() error { return f.readWrites(ctx, q, table) }},
		{"how the table is used", func() error { return f.readUsage(ctx, q, table) }},
		{"whether the table has rows", func() error { return f.readRows(ctx, q, table) }},
		{"the names of artefacts", func() error { return f.readTaken(ctx, q, table, wished) }},
		{"who works on the table", func() error {
			return q.QueryRowContext(ctx, "SELECT IFNULL(IS_USED_LOCK(?), 0)", plan.LockName(table)).Scan(&f.RunBy)
		}},
	} {
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return f.Facts, nil
}

// gatherer reads facts.
type gatherer struct{ *plan.Facts }

// measureRoundTrip takes the shortest of a few: a single one may have met a moment of other work, or
// opened a connection.
func (f gatherer) measureRoundTrip(ctx context.Context, q schema.Querier) error {
	for range 3 {
		began := time.Now()
		var one int
		if err := q.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
			return err
		}
		if took := time.Since(began); f.RoundTrip == 0 || took < f.RoundTrip {
			f.RoundTrip = took
		}
	}
	return nil
}

// variables are the names that readVariables asks for.
var variables = []string{
	"version",
	"server_id",
	"log_bin",
	"binlog_format",
	"binlog_row_image",
	"binlog_order_commits",
	"gtid_mode",
	"sync_binlog",
	"log_replica_updates",
	"log_slave_updates",
	"binlog_expire_logs_seconds",
	"expire_logs_days",
	"read_only",
	"super_read_only",
	"wsrep_on",
	"group_replication_group_name",
	"group_replication_single_primary_mode",
	"lower_case_table_names",
	"performance_schema",
	"innodb_online_alter_log_max_size",
	"innodb_autoinc_lock_mode",
	"innodb_buffer_pool_size",
	"innodb_adaptive_hash_index",
	"time_zone",
	"system_time_zone",
	"sql_mode",
	"partial_revokes",
	"innodb_native_foreign_keys",
	"log_bin_trust_function_creators",
	"div_precision_increment",
	"default_week_format",
	"lc_time_names",
}

// deciding are those that may decide the value of an expression.
var deciding = []string{"time_zone", "system_time_zone", "sql_mode", "div_precision_increment", "default_week_format", "lc_time_names"}

func (f gatherer) readVariables(ctx context.Context, q schema.Querier) error {
	v, err := readSettings(ctx, q, variables)
	if err != nil {
		return err
	}
	f.Version, err = plan.ParseVersion(v["version"])
	if err != nil {
		return err
	}
	f.take(v)
	return nil
}

// readRequiresKeys finds whether a table without a primary key is refused. Our sessions turn that off
// if they may: an account of MySQL without SESSION_VARIABLES_ADMIN may not, and MariaDB's variable is
// global only.
func (f gatherer) readRequiresKeys(ctx context.Context, q schema.Querier) error {
	var refusing int
	rows, err := q.QueryContext(ctx, "SHOW SESSION VARIABLES WHERE Variable_name IN "+
		"('sql_require_primary_key', 'innodb_force_primary_key') AND Value = 'ON'")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		refusing++
	}
	f.RequiresKeys = refusing > 0
	return rows.Err()
}

// settings are the server's variables by name.
type settings map[string]string

// readSettings reads variables, as far as the server has them.
func readSettings(ctx context.Context, q schema.Querier, names []string) (settings, error) {
	rows, err := q.QueryContext(ctx,
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	v := settings{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		v[strings.ToLower(name)] = value
	}
	return v, rows.Err()
}

func (v settings) on(name string) bool {
	return strings.EqualFold(v[name], "ON") || v[name] == "1"
}

func (v settings) number(name string) int64 {
	n, _ := strconv.ParseInt(v[name], 10, 64) // 0 without such a variable
	return n
}

func (f gatherer) take(v settings) {
	f.ServerID = uint32(v.number("server_id"))
	f.LogBin = v.on("log_bin")
	f.BinlogFormat = strings.ToUpper(v["binlog_format"])
	f.RowImage = strings.ToUpper(v["binlog_row_image"])
	_, has := v["binlog_order_commits"]
	f.CommitOrder = v.on("binlog_order_commits") || !has // MariaDB always commits in order
	f.GTID = v.on("gtid_mode") || f.Version.MariaDB      // MariaDB always has GTIDs
	f.OnlineLog = v.number("innodb_online_alter_log_max_size")
	f.BufferPool, f.AdaptiveHash = v.number("innodb_buffer_pool_size"), v.on("innodb_adaptive_hash_index")
	f.SyncBinlog = v.number("sync_binlog")
	f.LogReplicaUpdates = v.on("log_replica_updates") || v.on("log_slave_updates")
	f.BinlogExpire = time.Duration(v.number("binlog_expire_logs_seconds")) * time.Second
	if f.BinlogExpire == 0 {
		f.BinlogExpire = time.Duration(v.number("expire_logs_days")) * 24 * time.Hour
	}
	// MariaDB 11.8 and later have words where others have ON.
	f.ReadOnly = v["read_only"] != "" && !strings.EqualFold(v["read_only"], "OFF") && v["read_only"] != "0"
	f.SuperReadOnly = v.on("super_read_only")
	f.Galera = v.on("wsrep_on")
	f.Group = v["group_replication_group_name"] != ""
	f.MultiPrimary = f.Group && !v.on("group_replication_single_primary_mode")
	f.LowerCaseTableNames = int(v.number("lower_case_table_names"))
	f.PerformanceSchema = v.on("performance_schema")
	f.AutoincLockMode = int(v.number("innodb_autoinc_lock_mode"))
	f.TimeZone = v["time_zone"]
	f.SystemTimeZone = v["system_time_zone"]
	f.Deciding = map[string]string{}
	for _, name := range deciding {
		f.Deciding[name] = v[name]
	}
	f.SQLMode = strings.Split(v["sql_mode"], ",")
	f.ZeroDates = plan.Server{Version: f.Version, SQLMode: f.SQLMode}.TakesZeroDates() // TRADITIONAL is spelt out as well
	f.Grants.LiteralNames = v.on("partial_revokes")
	f.Foreign.Native = v.on("innodb_native_foreign_keys")
	f.TrustCreators = v.on("log_bin_trust_function_creators")
}

// readAccount reads the name of our account and its rights, with the active roles.
func (f gatherer) readAccount(ctx context.Context, q schema.Querier) error {
	if err := q.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&f.User); err != nil {
		return err
	}
	show := "SHOW GRANTS"
	if !f.Version.MariaDB && f.Version.AtLeast(8, 0, 0) {
		var roles string
		if err := q.QueryRowContext(ctx, "SELECT CURRENT_ROLE()").Scan(&roles); err != nil {
			return err
		}
		if roles != "" && !strings.EqualFold(roles, "NONE") {
			f.Grants.Roles = roles
			show = "SHOW GRANTS FOR CURRENT_USER() USING " + roles
		}
	}
	f.Grants.AllMatches = f.Version.MariaDB || f.Grants.Roles != "" || f.Grants.LiteralNames
	lines, err := firstColumn(ctx, q, show)
	if dbconn.Number(err) == errNoGrantTables {
		f.Grants.Unchecked = true
		return nil
	}
	if err != nil {
		return err
	}
	f.Grants.Read(lines)
	return nil
}

// errNoGrantTables is the server's answer when it runs with --skip-grant-tables.
const errNoGrantTables = 1290

// firstColumn returns the first column of a query.
func firstColumn(ctx context.Context, q schema.Querier, query string) ([]string, error) {
	rows, err := rowsOf(ctx, q, query)
	if err != nil {
		return nil, err
	}
	var first []string
	for _, r := range rows {
		first = append(first, r[0])
	}
	return first, nil
}

// rowsOf returns all rows of a SHOW statement. Its columns differ between servers.
func rowsOf(ctx context.Context, q schema.Querier, query string) ([][]string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]string
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make([]string, len(names))
		for i, v := range values {
			row[i] = v.String
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// seen accepts an error that means "you may not see this" as an answer.
func seen(err error) (ok bool, other error) {
	if err == nil {
		return true, nil
	}
	if dbconn.Denied(err) {
		return false, nil
	}
	return false, err
}
