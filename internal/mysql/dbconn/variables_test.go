package dbconn_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// everyServer are all versions: a new version brings new variables, which must be judged.
var everyServer = []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}

// harmless are the session variables that our connections do not set, each with the reason why it
// cannot change a value or a definition, or make a statement of ours fail.
var harmless = map[string][]string{
	"set by SET NAMES":             {"character_set_client", "character_set_connection", "character_set_results", "collation_connection"},
	"follows the default database": {"character_set_database", "collation_database"},
	"a session may set it only with a privilege, and the plan reads the global value": {
		"binlog_format", "binlog_row_image", "sql_log_bin", "binlog_row_value_options",
		"binlog_transaction_compression", "binlog_transaction_compression_level_zstd", "gtid_next",
		"binlog_direct_non_transactional_updates", "binlog_rows_query_log_events", "pseudo_thread_id",
		"pseudo_slave_mode", "pseudo_replica_mode", "original_commit_timestamp", "original_server_version",
		"immediate_server_version", "server_id", "require_row_format", "wsrep_on", "sql_log_off",
	},
	"a session cannot set it": {"max_allowed_packet", "max_user_connections", "net_buffer_length"},
	"how fast a statement runs or how much memory it takes, not what it gives": {
		"analyze_max_length", "analyze_sample_percentage", "bulk_insert_buffer_size", "connection_memory_chunk_size",
		"global_connection_memory_tracking", "eq_range_index_dive_limit", "expensive_subquery_limit",
		"innodb_ddl_buffer_size", "innodb_ddl_threads", "innodb_parallel_read_threads", "innodb_tmpdir",
		"internal_tmp_mem_storage_engine", "join_buffer_size", "join_buffer_space_limit", "join_cache_level",
		"max_heap_table_size", "max_length_for_sort_data", "max_rowid_filter_size", "max_seeks_for_key",
		"mrr_buffer_size", "multi_range_count", "optimizer_adjust_secondary_key_costs",
		"optimizer_extra_pruning_depth", "optimizer_join_limit_pref_ratio", "optimizer_max_sel_arg_weight",
		"optimizer_max_sel_args", "optimizer_max_subgraph_pairs", "optimizer_prune_level",
		"optimizer_scan_setup_cost", "optimizer_search_depth", "optimizer_selectivity_sampling_limit",
		"optimizer_use_condition_selectivity", "optimizer_where_cost", "preload_buffer_size",
		"query_alloc_block_size", "query_prealloc_size", "range_alloc_block_size", "range_optimizer_max_mem_size",
		"read_buffer_size", "read_rnd_buffer_size", "rowid_merge_buff_size", "set_operations_buffer_size",
		"sort_buffer_size", "tmp_memory_table_size", "tmp_table_size", "transaction_alloc_block_size",
		"transaction_prealloc_size", "use_stat_tables", "secondary_engine_cost_threshold", "select_into_buffer_size",
		"select_into_disk_sync", "select_into_disk_sync_delay", "net_retry_count", "tcp_nodelay",
		"thread_pool_priority", "query_cache_strip_comments", "query_cache_wlock_invalidate",
		"mhnsw_ef_search", "innodb_support_xa", "binlog_alter_two_phase",
		"enable_secondary_engine_statistics", "transaction_allow_batching", "transaction_write_set_extraction",
		"xa_detach_on_prepare",
	},
	"of statements that we do not use": {
		"cte_max_recursion_depth", "max_recursive_iterations", "max_sp_recursion_depth", "standard_compliant_cte",
		"windowing_use_high_precision", "updatable_views_with_limit", "enable_cascade_triggers",
		"external_table_storage_engine", "external_table_secondary_storage_engine", "explain_format",
		"explain_json_format_version", "generated_random_password_length", "histogram_size", "histogram_type",
		"histogram_generation_max_mem_size", "old_passwords", "print_identified_with_as_hex", "keep_files_on_create",
		"max_delayed_threads", "max_insert_delayed_threads", "rbr_exec_mode", "gtid_seq_no", "sql_slave_skip_counter",
		"new", "end_markers_in_json", "max_relay_log_size", "wsrep_osu_method",
	},
	"of other engines": {
		"aria_repair_threads", "aria_sort_buffer_size", "aria_stats_method", "deadlock_search_depth_long",
		"deadlock_search_depth_short", "deadlock_timeout_long", "deadlock_timeout_short", "myisam_repair_threads",
		"myisam_sort_buffer_size", "myisam_stats_method", "storage_engine",
	},
	"what is logged, traced or shown to people": {
		"binlog_annotate_row_events", "lc_messages", "log_disabled_statements", "log_queries_not_using_indexes",
		"log_slow_admin_statements", "log_slow_always_query_time", "log_slow_disabled_statements", "log_slow_filter",
		"log_slow_max_warnings", "log_slow_min_examined_row_limit", "log_slow_query", "log_slow_query_time",
		"log_slow_rate_limit", "log_slow_slave_statements", "log_slow_verbosity", "log_warnings", "long_query_time",
		"max_error_count", "min_examined_row_limit", "note_verbosity", "optimizer_trace", "optimizer_trace_features",
		"optimizer_trace_limit", "optimizer_trace_max_mem_size", "optimizer_trace_offset", "profiling",
		"profiling_history_size", "progress_report_time", "slow_query_log", "sql_warnings", "session_track_schema",
		"session_track_state_change", "session_track_system_variables", "redirect_url",
	},
	"the driver does not ask for it":             {"resultset_metadata", "interactive_timeout"},
	"of one statement or of this session's past": {"identity", "insert_id", "last_insert_id", "rand_seed1", "rand_seed2"},
	"waits longer, and changes nothing":          {"group_replication_consistency"},
	"Galera, which the plan refuses": {
		"wsrep_causal_reads", "wsrep_dirty_reads", "wsrep_gtid_seq_no", "wsrep_retry_autocommit",
		"wsrep_trx_fragment_size", "wsrep_trx_fragment_unit",
	},
	"of tables with system versioning, which the plan refuses": {"system_versioning_asof", "system_versioning_alter_history",
		"system_versioning_insert_history"},
	"order in which replicas apply": {"skip_parallel_replication"},
}

// TestL11_EverySessionVariable: each session variable of each server is set by our connections, or
// listed with the reason why it cannot matter. A connection has the values that we set, whatever
// init_connect and the global values are.
func TestL11_EverySessionVariable(t *testing.T) {
	judged := map[string]bool{}
	for _, names := range harmless {
		for _, name := range names {
			judged[name] = true
		}
	}
	for _, version := range everyServer {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			set := pool.Variables()
			for _, name := range sessionVariables(t, server.Open(t, "")) {
				switch is := slices.Contains(set, name); {
				case !is && !judged[name]:
					t.Errorf("session variable %s is neither set nor judged harmless", name)
				case is && judged[name]:
					t.Errorf("session variable %s is set, and judged harmless", name)
				}
			}
		})
	}
}

// sessionVariables lists the variables that a session can set for itself.
func sessionVariables(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(t.Context(), "SHOW SESSION VARIABLES")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.ToLower(name))
	}
	rows.Close()
	const global, readOnly = 1229, 1238
	for _, name := range all {
		_, err := conn.ExecContext(t.Context(), fmt.Sprintf("SET SESSION `%s` = @@SESSION.`%s`", name, name))
		if n := dbconn.Number(err); n != global && n != readOnly {
			names = append(names, name)
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d session variables", len(names))
	}
	return names
}

// TestL11_HostileGlobals: a connection has our values under unusual global values, and with an
// init_connect that sets others.
func TestL11_HostileGlobals(t *testing.T) {
	for _, version := range everyServer {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			root := server.Open(t, "")
			exec := func(statements ...string) {
				t.Helper()
				for _, s := range statements {
					if _, err := root.ExecContext(context.Background(), s); err != nil {
						t.Fatalf("%s: %v", s, err)
					}
				}
			}
			exec(
				"CREATE USER hostile IDENTIFIED BY 'h'", "GRANT PROCESS ON *.* TO hostile",
				"SET GLOBAL init_connect = 'SET NAMES latin1; SET SESSION sql_mode = \"ANSI_QUOTES\", sql_select_limit = 1, completion_type = 2, autocommit = 0, timestamp = 1, time_zone = \"+03:00\"; SET SESSION TRANSACTION READ ONLY'",
			)
			t.Cleanup(func() { exec("SET GLOBAL init_connect = DEFAULT", "DROP USER hostile") })
			pool, err := dbconn.Open(
				t.Context(),
				dbconn.Config{Network: server.Network, Address: server.Address, User: "hostile", Password: "h"}, nil,
			)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			session, err := pool.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for query, want := range map[string]string{
				"SELECT @@character_set_client": "utf8mb4", "SELECT @@sql_select_limit": "18446744073709551615", "SELECT @@autocommit": "1",
				"SELECT @@completion_type": "NO_CHAIN", "SELECT @@time_zone": "+00:00", "SELECT HEX('é')": "C3A9", "SELECT NOW() > '2020-01-01'": "1",
				"SELECT @@sql_mode LIKE '%STRICT_ALL%' AND @@sql_mode NOT LIKE '%ANSI%'": "1",
			} {
				var got string
				if err := session.Rows(
					t.Context(),
					query,
					func(rows *sql.Rows) error { return rows.Scan(&got) },
				); err != nil ||
					got != want {
					t.Errorf("%s gives %q, %v; want %q", query, got, err, want)
				}
			}
		})
	}
}
