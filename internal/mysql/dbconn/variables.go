package dbconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
)

// variable is a session variable that every connection of ours sets. The value is an SQL
// expression.
type variable struct{ name, value string }

// most is the largest value of a variable of 64 bits.
const most = "18446744073709551615"

// first are statements that must come before a server can be asked for its variables. SET NAMES is
// the first of them: names and comments then arrive unchanged, for any init_connect or
// skip-character-set-client-handshake. Once sql_mode is empty, a quote is a quote under any
// sql_mode.
var first = []string{
	"SET NAMES utf8mb4",
	"SET SESSION sql_mode = '', max_join_size = " + most + ", sql_select_limit = " + most + ", sql_big_selects = 1, sql_safe_updates = 0, autocommit = 1",
}

// ours are the variables of all connections, with the values that our own statements need. A server
// leaves out variables that it does not have. A variable that the account may not set keeps the
// server's value. TestL11_EverySessionVariable compares this list, and the list of variables that
// cannot matter, with the servers.
//
// READ COMMITTED makes the SELECT of INSERT..SELECT a consistent read (decision 4).
// lock_wait_timeout is the backstop of decision 5; its least value is 1 s. With MariaDB's
// innodb_snapshot_isolation (ON from 11.6 on) a statement fails (1020) if another transaction has
// changed a row, instead of taking the newest version.
func ours() []variable {
	return []variable{
		{"time_zone", "'+00:00'"},
		{"sql_mode", "CONCAT('" + ourModes + "', " + subtracting + ")"},
		// Transactions and locks.
		{"autocommit", "1"},
		{"completion_type", "0"},
		{"transaction_isolation", "'READ-COMMITTED'"},
		{"tx_isolation", "'READ-COMMITTED'"},
		{"transaction_read_only", "0"},
		{"tx_read_only", "0"},
		{"innodb_snapshot_isolation", "0"},
		{"lock_wait_timeout", "1"},
		{"innodb_lock_wait_timeout", "5"},
		{"innodb_table_locks", "1"},
		{"foreign_key_checks", "1"},
		{"unique_checks", "1"},
		{"low_priority_updates", "0"},
		{"wsrep_sync_wait", "0"},
		// Limits that end a statement or a connection.
		{"max_join_size", most},
		{"sql_big_selects", "1"},
		{"sql_select_limit", most},
		{"sql_safe_updates", "0"},
		{"max_execution_time", "0"},
		{"max_statement_time", "0"},
		{"wait_timeout", "28800"},
		{"net_read_timeout", "60"},
		{"net_write_timeout", "60"},
		{"idle_transaction_timeout", "0"},
		{"idle_readonly_transaction_timeout", "0"},
		{"idle_write_transaction_timeout", "0"},
		{"parser_max_mem_size", most},
		{"connection_memory_limit", most},
		{"max_session_mem_used", "9223372036854775807"},
		{"max_tmp_session_space_usage", "0"},
		{"tmp_disk_table_size", most},
		{"max_tmp_tables", "4294967295"},
		// What a statement means, and what it returns.
		{"sql_auto_is_null", "0"},
		{"query_cache_type", "0"},
		{"big_tables", "0"},
		{"sql_buffer_result", "0"},
		{"group_concat_max_len", "1048576"},
		{"max_sort_length", "8192"},
		{"in_predicate_conversion_threshold", "0"},
		{"optimizer_switch", "CONCAT('default', " + invisible + ")"},
		{"information_schema_stats_expiry", "0"}, // sizes of now, not of yesterday
		{"sql_quote_show_create", "1"},
		{"show_create_table_verbosity", "0"},
		{"show_old_temporals", "0"},
		{"show_gipk_in_create_table_and_information_schema", "1"},
		{"show_create_table_skip_secondary_engine", "0"},
		{"sql_notes", "1"},
		{"terminology_use_previous", "'NONE'"},
		{"default_master_connection", "''"},
		{"timestamp", "0"},
		{"skip_replication", "0"},
		{"use_secondary_engine", "'OFF'"},
		{"session_track_gtids", "'OFF'"},
		{"session_track_transaction_info", "'OFF'"},
		// What a table of ours becomes.
		{"default_storage_engine", "'InnoDB'"},
		{"default_tmp_storage_engine", "'InnoDB'"},
		{"enforce_storage_engine", "NULL"},
		{"sql_require_primary_key", "0"},
		{"sql_generate_invisible_primary_key", "0"},
		{"innodb_strict_mode", "0"},
		{"explicit_defaults_for_timestamp", "1"},
		{"restrict_fk_on_non_standard_key", "0"},
		{"alter_algorithm", "'DEFAULT'"},
		{"old_alter_table", "0"},
		{"sql_if_exists", "0"},
		// The value of an expression in the table depends on these: they keep the server's value,
		// for any init_connect.
		{"check_constraint_checks", theServers},
		{"div_precision_increment", theServers},
		{"default_week_format", theServers},
		{"lc_time_names", theServers},
		{"block_encryption_mode", theServers},
		{"default_regex_flags", theServers},
		{"max_points_in_geometry", theServers},
		{"old_mode", theServers},
		{"new_mode", theServers},
		{"old", theServers},
		{"default_collation_for_utf8mb4", theServers},
		{"character_set_collations", theServers},
		{"character_set_server", theServers},
		{"collation_server", theServers},
		{"character_set_filesystem", theServers},
		{"innodb_ft_enable_stopword", theServers},
		{"innodb_ft_user_stopword_table", theServers},
		{"auto_increment_increment", theServers},
		{"auto_increment_offset", theServers},
		{"default_table_encryption", theServers},
		{"innodb_compression_default", theServers},
		{"innodb_default_encryption_key_id", theServers},
		{"column_compression_threshold", theServers},
		{"column_compression_zlib_level", theServers},
		{"column_compression_zlib_strategy", theServers},
		{"column_compression_zlib_wrap", theServers},
		{"mhnsw_default_distance", theServers},
		{"mhnsw_default_m", theServers},
		{"gtid_domain_id", theServers},
	}
}

// ourModes is the sql_mode of all sessions that write rows.
const ourModes = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"

// subtracting is the part of the server's sql_mode that decides whether a difference of unsigned
// numbers may be negative. All our sessions have it. MariaDB decides the type of an expression when
// a session opens the table, and keeps the open table for other sessions.
const subtracting = "IF(FIND_IN_SET('NO_UNSIGNED_SUBTRACTION', @@GLOBAL.sql_mode), ',NO_UNSIGNED_SUBTRACTION', '')"

// invisible lets queries use an invisible index: a unique key is enforced, and rows are found by
// it, whether it is visible or not.
const invisible = "IF(@@GLOBAL.optimizer_switch LIKE '%use_invisible_indexes=%', ',use_invisible_indexes=on', '')"

// theServers means the global value of a variable.
const theServers = "@@GLOBAL"

// assignment is the variable's part of a SET.
func (v variable) assignment() string {
	if v.value == theServers {
		return fmt.Sprintf("SESSION %s = @@GLOBAL.%s", v.name, v.name)
	}
	return fmt.Sprintf("SESSION %s = %s", v.name, v.value)
}

// settings set the variables of one connection after another. The first connection finds out the
// variables that the server has.
type settings struct {
	// wanted variables must be set, and an error is the caller's.
	wanted []variable
	// known has assignments; nil until the first connection was made.
	known []string
	has   map[string]bool
	// kept are the variables that the account may not set.
	kept []string
}

// prepare lets a new connection ask the server for something.
func prepare(ctx context.Context, conn driver.Conn) error {
	for _, statement := range first {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// set sets the variables of a new connection. The connection is prepared. The first connection
// finds out the existing variables, and the others wait for it.
func (b *bound) set(ctx context.Context, conn driver.Conn) error {
	run := func(statement string) error {
		_, err := conn.(driver.ExecerContext).ExecContext(ctx, b.globals.Replace(statement), nil)
		return err
	}
	known, err := b.learned(ctx, conn, run)
	if err == nil {
		err = run("SET " + strings.Join(known, ", "))
	}
	if err == nil && len(b.variables.wanted) > 0 {
		err = run("SET " + assignments(b.variables.wanted))
	}
	if err != nil {
		return fmt.Errorf("set session variables: %w", err)
	}
	return nil
}

// learned returns the assignments that a connection makes.
func (b *bound) learned(ctx context.Context, conn driver.Conn, run func(string) error) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.variables.known == nil {
		if err := b.variables.learn(ctx, conn, run); err != nil {
			return nil, err
		}
	}
	return b.variables.known, nil
}

func assignments(list []variable) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.assignment()
	}
	return strings.Join(texts, ", ")
}

// learn finds the variables that the server has and that the account may set.
func (s *settings) learn(ctx context.Context, conn driver.Conn, run func(string) error) (err error) {
	if s.has, err = variablesOf(ctx, conn); err != nil {
		return fmt.Errorf("list session variables: %w", err)
	}
	var there []variable
	for _, v := range ours() {
		if s.has[v.name] {
			there = append(there, v)
		}
	}
	if err := run("SET " + assignments(there)); err != nil {
		if there, err = s.settable(there, run); err != nil {
			return err
		}
	}
	s.known = make([]string, len(there))
	for i, v := range there {
		s.known[i] = v.assignment()
	}
	return nil
}

// settable returns the variables that the server lets the account set.
func (s *settings) settable(all []variable, run func(string) error) (list []variable, err error) {
	s.kept = nil
	for _, v := range all {
		switch err := run("SET " + v.assignment()); {
		case err == nil:
			list = append(list, v)
		case Number(err) == 0 || ConnectionLost(err) || essential(v.name):
			return nil, err
		default:
			s.kept = append(s.kept, v.name)
		}
	}
	return list, nil
}

// essential reports whether a run is not safe without the variable.
func essential(name string) bool {
	switch name {
	case "transaction_isolation",
		"tx_isolation",
		"autocommit",
		"lock_wait_timeout",
		"sql_mode",
		"time_zone",
		"foreign_key_checks",
		"unique_checks",
		"completion_type":
		return true
	}
	return false
}

// variablesOf lists the names of the session variables of a connection.
func variablesOf(ctx context.Context, conn driver.Conn) (map[string]bool, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SHOW SESSION VARIABLES", nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	has := map[string]bool{}
	values := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(values)
		if errors.Is(err, io.EOF) {
			return has, nil
		}
		if err != nil {
			return nil, err
		}
		has[strings.ToLower(fmt.Sprintf("%s", values[0]))] = true
	}
}

// Keeps reports whether the account may not set a session variable, so that it keeps the server's
// value.
func (p *Pool) Keeps(name string) bool {
	for _, kept := range p.server.variables.kept {
		if kept == name {
			return true
		}
	}
	return false
}

// Defining returns the settings of a session with statements that carry over a definition
// unchanged, such as CREATE TABLE LIKE and an ALTER of the comment. Servers read literals and
// expressions of the definition again. MariaDB refuses an expression that depends on a part of the
// sql_mode that the session lacks (1901). It also rewrites the moments of a CHECK in the session's
// zone (10.11.18).
func (p *Pool) Defining() []string {
	mode := lexed
	for _, not := range notDefining() {
		mode = fmt.Sprintf("REPLACE(%s, '%s', '')", mode, not)
	}
	return []string{p.server.globals.Replace("SET SESSION time_zone = @@GLOBAL.time_zone, SESSION sql_mode = " + mode)}
}

// notDefining are the parts of an sql_mode that may make the server refuse an existing definition.
func notDefining() []string {
	return []string{"NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"}
}

// lexed is the server's sql_mode, but a backslash escapes: in literals of ours, and in a statement
// of the operator's as ddl.ParseStatementIn rewrites it.
const lexed = "REPLACE(@@GLOBAL.sql_mode, 'NO_BACKSLASH_ESCAPES', '')"

// operators are the variables that may change the meaning of an operator's ALTER, or make the
// server refuse it, in addition to time_zone and sql_mode.
func operators() []string {
	return []string{
		"explicit_defaults_for_timestamp",
		"innodb_strict_mode",
		"sql_require_primary_key",
		"sql_generate_invisible_primary_key",
		"restrict_fk_on_non_standard_key",
		"sql_if_exists",
		"default_storage_engine",
		"default_tmp_storage_engine",
		"enforce_storage_engine",
	}
}

// AsTheServer returns the settings that give an operator's statement the same meaning as in a
// session with the server's own settings. It is always strict: no value is changed without an
// error. zeroDates still lets a date be zero, for tables that have such defaults: otherwise the
// server takes no statement about them (error 1067).
func (p *Pool) AsTheServer(zeroDates bool) []string {
	mode := lexed
	if zeroDates {
		for _, against := range []string{"NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL"} {
			mode = fmt.Sprintf("REPLACE(%s, '%s', '')", mode, against)
		}
	}
	set := []string{"SESSION time_zone = @@GLOBAL.time_zone"}
	for _, name := range operators() {
		if p.server.variables.has[name] && !p.Keeps(name) {
			set = append(set, variable{name, theServers}.assignment())
		}
	}
	set = append(set, "SESSION sql_mode = CONCAT("+mode+", ',STRICT_ALL_TABLES')")
	return []string{p.server.globals.Replace("SET " + strings.Join(set, ", "))}
}

// Variables lists the session variables that every connection sets. REQUIRES: a connection was made.
func (p *Pool) Variables() (names []string) {
	for _, v := range ours() {
		if p.server.variables.has[v.name] && !p.Keeps(v.name) {
			names = append(names, v.name)
		}
	}
	return names
}
