package sandbox

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Options say how a server is to be run. The zero value is a throwaway server for tests.
type Options struct {
	// Dir is the folder for the server's data and log. It is made if need be, taken up as it is if
	// it holds a server's data already (of the same Version), and stays when the server is stopped.
	// Defaults to a folder in the cache that Stop removes.
	Dir string

	// Port on 127.0.0.1. Defaults to a free one.
	Port int

	// Durable makes every commit reach the disk, and protects pages against torn writes: as in
	// production, and for what is measured. Defaults to a server that loses nothing when it is
	// killed, but may when the machine is.
	Durable bool

	// InMemory puts a server's folder on a file system in memory (/dev/shm), if the machine has one
	// with room for many servers. It is of no effect with Dir.
	InMemory bool

	// Password of the administrator, set when Dir is made. Defaults to none.
	Password string

	// Settings are further server variables, or other values for those that are set here (see
	// defaultSettings), such as {"innodb_buffer_pool_size": "2G", "gtid_mode": "ON"}. An empty
	// value passes the name alone.
	Settings map[string]string
}

// setting is one argument of the server. A loose one is ignored by servers that don't know it.
type setting struct {
	name, value string
	loose       bool
}

func (s setting) arg() string {
	arg := "--"
	if s.loose {
		arg += "loose_"
	}
	if arg += s.name; s.value != "" {
		arg += "=" + s.value
	}
	return arg
}

// defaultSettings are those of a server on which online schema changes can be tried: row events, and
// facts about sessions and locks in performance_schema.
func defaultSettings(durable bool) []setting {
	d := []setting{
		{name: "bind_address", value: "127.0.0.1"},
		{name: "mysqlx", value: "0", loose: true},
		{name: "skip_name_resolve"},
		{name: "max_connections", value: "300"},
		{name: "max_connect_errors", value: "1000000"}, // waiting for readiness hangs up before logging in
		{name: "character_set_server", value: "utf8mb4"},
		{name: "performance_schema", value: "ON"},
		{name: "performance_schema_digests_size", value: "20000"},                       // tests of many databases fill the usual 10,000
		{name: "performance_schema_consumer_events_statements_current", value: "ON"},    // not by default on MariaDB
		{name: "performance_schema_instrument", value: "wait/lock/metadata/sql/mdl=ON"}, // not by default on 5.7 and MariaDB
		{name: "log_error_verbosity", value: "2", loose: true},
		{name: "innodb_buffer_pool_size", value: "512M"},
		{name: "innodb_redo_log_capacity", value: "512M", loose: true},
		{name: "server_id", value: "1"},
		{name: "log_bin", value: "binlog"},
		{name: "binlog_format", value: "ROW", loose: true},
		{name: "binlog_row_image", value: "FULL"},
	}
	if durable {
		return append(d,
			setting{name: "sync_binlog", value: "1"},
			setting{name: "innodb_flush_log_at_trx_commit", value: "1"},
			setting{name: "innodb_doublewrite", value: "1"})
	}
	return append(d,
		setting{name: "sync_binlog", value: "0"},
		setting{name: "innodb_flush_log_at_trx_commit", value: "2"},
		setting{name: "innodb_doublewrite", value: "0"})
}

// settings returns the defaults with the caller's settings in place of or after them.
func (o Options) settings() []setting {
	own := make(map[string]string, len(o.Settings))
	for name, value := range o.Settings {
		own[canonical(name)] = value
	}
	all := defaultSettings(o.Durable)
	for i, s := range all {
		if value, ok := own[s.name]; ok {
			all[i] = setting{name: s.name, value: value} // the caller means it: not loose
			delete(own, s.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		all = append(all, setting{name: name, value: own[name]})
	}
	return all
}

// fromBirth returns the arguments that a data folder must be initialised with, because they can't be
// changed later.
func (o Options) fromBirth() []string {
	var args []string
	for _, s := range o.settings() {
		switch s.name {
		case "lower_case_table_names", "innodb_page_size", "innodb_data_file_path", "innodb_undo_tablespaces":
			args = append(args, s.arg())
		}
	}
	return args
}

func canonical(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "--"), "-", "_")
}

// arguments returns the command line for a server whose folders are in dir.
func (o Options) arguments(b *Build, f folder, port int) []string {
	args := append(b.serverArgs(),
		"--datadir="+f.data(), "--tmpdir="+f.temp(),
		"--socket=mysqld.sock", "--pid-file=mysqld.pid", // in the data folder: an absolute path may be too long
		"--port="+strconv.Itoa(port))
	if b.IsMariaDB() {
		args = append(args, "--secure-file-priv="+f.temp())
	} else {
		args = append(args, "--secure-file-priv=NULL")
	}
	for _, s := range o.settings() {
		args = append(args, s.arg())
	}
	return args
}
