package ghost

import (
	"slices"

	"midstream/internal/compat/speech"
)

// kind is the kind of a flag's value, as Go's package flag reads it.
type kind string

const (
	onOff kind = "" // alone, or =true and =false
	word  kind = "string"
	whole kind = "int"
	real  kind = "float"
	list  kind = "strings" // it may be said several times
)

// Flag is one of gh-ost's.
type Flag struct {
	Name    string
	Kind    kind
	Default string // "" is false, 0 or empty
	Fate    speech.Fate
	// Becomes tells people what is done about it.
	Becomes string
}

// row is the flag in a list.
func (f Flag) row() speech.Row {
	return speech.Row{Name: "`--" + f.Name + "`", Value: string(f.Kind), Default: f.Default, Fate: f.Fate, Becomes: f.Becomes}
}

const (
	byTime   = "A chunk is as many rows as fit into 250 ms at most (--chunk-time of midstream run), in exact ranges."
	triggers = "The plan decides about triggers of the table: they are carried over under their own names if that is possible, otherwise the plan refuses."
	always   = "always done, with or without this option"
	named    = "The server that you named is used unchanged"
)

// Flags lists all of version 1.1.9.
func Flags() []Flag {
	return slices.Concat(connecting(), changing(), copying(), waiting(), swapping(), watching(), obeying())
}

// connecting are the flags that say which servers, and how they are reached.
func connecting() []Flag {
	return []Flag{
		{
			"host", word, "127.0.0.1", speech.Same,
			"The server to begin from: a replica, whose primary is found and changed; or, with --allow-on-master, the primary. It is always reached by TCP.",
		},
		{"port", whole, "3306", speech.Same, "Its port."},
		{"user", word, "", speech.Same, "The account, on all servers. None: the one of MySQL's option files, or the login name."},
		{"password", word, "", speech.Same, "Its password. It is overwritten in the process's arguments."},
		{"ask-pass", onOff, "", speech.Same, "Asks for it on the terminal, without echo."},
		{
			"conf", word, "", speech.Same,
			"A file with user and password in its group [client]; ${NAME} is a variable of the environment. The command line takes precedence. It is read once.",
		},
		{"master-user", word, "", speech.Same, "The account on the primary, with --assume-master-host."},
		{"master-password", word, "", speech.Same, "The password there, with --assume-master-host."},
		{"assume-master-host", word, "", speech.Same, "The primary, as host or host:port. Then nothing is searched."},
		{"allow-on-master", onOff, "", speech.Same, "The server of --host may be the primary itself."},
		{
			"allow-master-master", onOff, "", speech.Same,
			"Primaries may replicate from each other: the primary that is not read-only is changed. If both take writes, --assume-master-host must name one.",
		},
		{"tungsten", onOff, "", speech.Noted, "--assume-master-host names the primary, whatever replicates."},
		{"aliyun-rds", onOff, "", speech.Noted, named + "."},
		{"gcp", onOff, "", speech.Noted, named + "."},
		{"azure", onOff, "", speech.Noted, named + "."},
		{"skip-port-validation", onOff, "", speech.Noted, named + ": its own report of its port is not checked."},
		{
			"mysql-timeout", real, "0", speech.Noted,
			"Connections have bounds of their own, and a server that is gone for less than ten minutes is waited for.",
		},
		{
			"charset", word, "utf8mb4,utf8,latin1", speech.Noted,
			"Values are converted by the server, never by the client; connections speak utf8mb4.",
		},
		{"ssl", onOff, "", speech.Same, "TLS, with the certificate and the host's name verified."},
		{"ssl-ca", word, "", speech.Same, "The certificates by which it is verified."},
		{"ssl-cert", word, "", speech.Same, "The client's certificate."},
		{"ssl-key", word, "", speech.Same, "The client's key."},
		{"ssl-allow-insecure", onOff, "", speech.Same, "TLS, with nothing verified."},
		{"gtid", onOff, "", speech.Noted, "GTIDs are used wherever the server has them."},
		{"replica-server-id", whole, "99999", speech.Noted, "A number is chosen that no replica has."},
		{
			"binlogsyncer-max-reconnect-attempts", whole, "", speech.Noted,
			"A server that is gone is waited for for ten minutes; then the run ends with its work kept.",
		},
		{
			"assume-rbr", onOff, "", speech.Noted,
			"Replication is never restarted. A session that writes statements in place of rows ends the run.",
		},
		{"switch-to-rbr", onOff, "", speech.Noted, "Nothing is switched: the plan refuses a binlog that has no rows."},
	}
}

// changing are the flags that say what is changed, and whether.
func changing() []Flag {
	return []Flag{
		{"database", word, "", speech.Same, "The table's database, if --alter does not name it."},
		{"table", word, "", speech.Same, "The table, if --alter does not name it."},
		{"alter", word, "", speech.Same, "The clauses, or the complete ALTER TABLE."},
		{
			"execute", onOff, "", speech.Same,
			"Change the table. Without it everything is checked except the rows; the server is asked on an empty copy of the table, which is dropped.",
		},
		{
			"attempt-instant-ddl", onOff, "", speech.Same,
			"The server changes the table itself if it need only change its dictionary; with --ok-to-drop-table also if it can build in place within bounds (midstream plan shows it). The run asks for its lock as for the swap's.",
		},
		{"storage-engine", word, "innodb", speech.Same, "innodb. rocksdb is refused."},
		{
			"approve-renamed-columns", onOff, "", speech.Same,
			"Columns that CHANGE renames keep their values. Without it such an ALTER is refused. (RENAME COLUMN needs no option.)",
		},
		{
			"skip-renamed-columns", onOff, "", speech.Refused,
			"A rename that loses the values is DROP COLUMN and ADD COLUMN: write these in --alter.",
		},
		{
			"discard-foreign-keys", onOff, "", speech.Same,
			"The new table has none of the table's own foreign keys: a DROP FOREIGN KEY for each goes with the ALTER. Without it they are carried over, or the plan refuses. Foreign keys of other tables that refer to it are always carried over.",
		},
		{"skip-foreign-key-checks", onOff, "", speech.Noted, "The plan looks at foreign keys: " + always + ". It takes no time."},
		{"allow-nullable-unique-key", onOff, "", speech.Noted, "The plan chooses the key, and explains why another key cannot be followed."},
		{"include-triggers", onOff, "", speech.Noted, triggers},
		{"trigger-suffix", word, "", speech.Noted, triggers},
		{"remove-trigger-suffix-if-exists", onOff, "", speech.Noted, triggers},
		{"force-table-names", word, "", speech.Same, "The word for the tables' names, instead of the table's name."},
		{
			"initially-drop-ghost-table", onOff, "", speech.Same,
			"The work of an earlier run is removed first, and any other table of the new table's name is dropped. Without it the same ALTER resumes that work, and another table of that name refuses the run.",
		},
		{
			"initially-drop-old-table", onOff, "", speech.Same,
			"A table of the old table's name is dropped first. Without it such a table refuses the run.",
		},
		{
			"revert", onOff, "", speech.Same,
			"Take back the last change of the table, if its run had --checkpoint, and keep every write since (midstream undo). The table that is put aside is _t_rev_del. The old table is brought up to date from the binlog, and each row that has changed is compared before the swap. Rows that the old definition refuses are listed, and nothing is changed.",
		},
		{"old-table", word, "", speech.Same, "With --revert: the old table that the change has left, such as _t_del."},
	}
}

// copying are the flags about rows and changes.
func copying() []Flag {
	return []Flag{
		{"chunk-size", whole, "1000", speech.Noted, byTime},
		{"dml-batch-size", whole, "10", speech.Noted, "Changed keys are gathered, and synced in lists of a suitable size."},
		{
			"default-retries", whole, "60", speech.Same,
			"How often the swap is tried, as a time: this number times --cut-over-lock-timeout-seconds and a second. Then the run ends with its work kept. Other statements are repeated as long as that can help.",
		},
		{
			"exact-rowcount", onOff, "", speech.Noted,
			"The number of rows is the server's estimate, until all are copied. (Nothing but the display depends on it.)",
		},
		{"concurrent-rowcount", onOff, "true", speech.Noted, "Rows are not counted."},
		{
			"skip-strict-mode", onOff, "", speech.Noted,
			"Rows that do not fit the new table are found before the copy, and listed; none is changed silently.",
		},
		{
			"allow-zero-in-date", onOff, "", speech.Same,
			"Defaults of the ALTER may be zero dates, though the server's sql_mode takes none. If the table has such defaults already, the option is not needed.",
		},
		{"panic-on-warnings", onOff, "", speech.Noted, "No row is lost or changed silently: " + always + "."},
		{
			"heartbeat-interval-millis", whole, "100", speech.Noted,
			"A heartbeat comes every 50 to 100 ms, or every 200 ms if triggers capture changes.",
		},
		{
			"checkpoint", onOff, "", speech.Same,
			"A run that is ended by a signal, panic or a flag file keeps its work. (A run that was killed, or lost its server, can always resume.) Without --ok-to-drop-table the run also keeps what --revert needs: the old table and its position in the binlog, for 30 days (midstream undo --extend or --end changes that).",
		},
		{"checkpoint-seconds", whole, "300", speech.Noted, "A checkpoint is written every five seconds, into the same table."},
		{
			"resume", onOff, "", speech.Same,
			"Resume an earlier run of the same ALTER, and fail if there is none. The same command resumes also without it.",
		},
	}
}

// waiting are the flags that say for what a run waits.
func waiting() []Flag {
	return []Flag{
		{
			"nice-ratio", real, "0", speech.Same,
			"As a share of the time: the row copy works for 1/(1+ratio) of it. It also gives way to the application.",
		},
		{"max-lag-millis", whole, "1500", speech.Same, "How far a watched replica may be behind, measured by heartbeats."},
		{"replication-lag-query", word, "", speech.Noted, "It has no effect there either."},
		{
			"throttle-control-replicas", word, "", speech.Same,
			"Replicas to watch, in addition to the replica of --host. If neither names one, the run watches the replicas that the primary reports.",
		},
		{
			"throttle-query", word, "", speech.Same,
			"Holds the copy and the comparisons; changes are still applied. Asked once a second. A query about the table of heartbeats (_ghc), which does not exist, is left out with a note. Any other must work from the beginning, and while it fails the run waits.",
		},
		{
			"throttle-http", word, "", speech.Same,
			"Holds the copy and the comparisons; changes are still applied. Asked once a second by GET; the run waits while the answer is no 2xx, or there is none. Without http:// or https:// it has no effect, as there.",
		},
		{"throttle-http-interval-millis", whole, "100", speech.Noted, "Once a second."},
		{"throttle-http-timeout-millis", whole, "1000", speech.Noted, "Ten seconds, after which the run waits."},
		{
			"ignore-http-errors", onOff, "", speech.Refused,
			"The run waits for a URL that does not answer. Leave the URL out, or name a URL that answers.",
		},
		{"throttle-flag-file", word, "", speech.Same, "The copy waits while the file exists; changes are still applied."},
		{"throttle-additional-flag-file", word, "/tmp/gh-ost.throttle", speech.Same, "The same, for all runs of a machine."},
		{"max-load", word, "", speech.Same, "The copy waits while a status variable is above; changes are still applied."},
		{"critical-load", word, "", speech.Same, "The run ends when a status variable is above, in two samples in a row."},
		{"critical-load-interval-millis", whole, "", speech.Noted, "There is always a second sample, half a second later."},
		{
			"critical-load-hibernate-seconds", whole, "", speech.Same,
			"With it the run waits instead of ending, as long as the load is critical.",
		},
	}
}

// swapping are the flags about the swap, and what comes after it.
func swapping() []Flag {
	return []Flag{
		{
			"cut-over", word, "atomic", speech.Noted,
			"The swap is atomic; there is no moment without the table. Another word than atomic, default and two-step is an error.",
		},
		{
			"cut-over-lock-timeout-seconds", whole, "3", speech.Same,
			"It counts for how long the run tries (--default-retries). No query waits so long: the run asks for the lock for 250 ms at a time (--lock-wait of midstream run), and not while a session holds it.",
		},
		{
			"cut-over-exponential-backoff", onOff, "", speech.Same,
			"It counts for how long the run tries; the pauses between two requests always grow, up to ten seconds.",
		},
		{"exponential-backoff-max-interval", whole, "64", speech.Same, "The longest pause that counts so."},
		{
			"postpone-cut-over-flag-file", word, "", speech.Same,
			"The file is made if it does not exist, and the swap waits until it is gone; changes are applied during that time.",
		},
		{"ok-to-drop-table", onOff, "", speech.Same, "The old table is dropped after the swap."},
		{"timestamp-old-table", onOff, "", speech.Same, "The old table's name has the time in it: _t_20260304050607_del."},
		{"analyze-ghost-table-before-cutover", onOff, "", speech.Noted, "The new table is analyzed before the swap: " + always + "."},
		{"allow-setup-metadata-lock-instruments", onOff, "", speech.Noted, "Nothing is set up: the plan reports if something is missing."},
		{"skip-metadata-lock-check", onOff, "", speech.Noted, "The swap needs no such check."},
	}
}

// watching are the flags about what is told and obeyed.
func watching() []Flag {
	return []Flag{
		{"quiet", onOff, "", speech.Same, "Nothing but errors on standard error."},
		{"verbose", onOff, "", speech.Same, "Phases too, on standard error."},
		{"debug", onOff, "", speech.Same, "The same as --verbose."},
		{"stack", onOff, "", speech.Noted, "An error explains what has failed, why, and what is left on the server."},
		{"help", onOff, "", speech.Same, "Lists the flags."},
		{"version", onOff, "", speech.Same, "The version whose command line it is, and Midstream's."},
		{"check-flag", onOff, "", speech.Same, "Exit code 0 if all other flags of the command line are known, else 2."},
	}
}

// obeying are the flags about commands, hooks, and runs on a replica.
func obeying() []Flag {
	return []Flag{
		{
			"test-on-replica", onOff, "", speech.Same,
			"The table is copied on the replica of --host, with nothing of it in the replica's binlog. Replication stops, the rest is applied, and _t_gho stays, equal to the table. The table itself is not renamed, not even for a moment.",
		},
		{
			"test-on-replica-skip-replica-stop", onOff, "", speech.Same,
			"Replication continues: the table still changes after the end, and _t_gho does not.",
		},
		{
			"migrate-on-replica", onOff, "", speech.Same,
			"The table is changed on the replica of --host. Its binlog gets what is written, as there: transactions that no other server has. It must take writes (read_only is OFF).",
		},
		{
			"panic-flag-file", word, "", speech.Same,
			"The run ends once the file exists (exit code 1). Its work is removed, or kept with --checkpoint.",
		},
		{"force-named-cut-over", onOff, "", speech.Same, "The command cut-over must name the table."},
		{"force-named-panic", onOff, "", speech.Same, "The command panic must name the table."},
		{
			"serve-socket-file", word, "", speech.Same,
			"The socket at which the run takes commands: /tmp/gh-ost.DATABASE.TABLE.sock if none is named. midstream status, pause, set and so on also reach it.",
		},
		{"serve-tcp-port", whole, "", speech.Same, "The same by TCP. Whoever can reach the port can command the run."},
		{
			"initially-drop-socket-file", onOff, "", speech.Same,
			"An existing socket file is removed, though another run may listen at it. A socket file without a listener is always removed.",
		},
		{
			"hooks-path", word, "", speech.Same,
			"The folder of the programs that are called at certain moments; all of them, with all of their variables. A program that fails ends the run. The swap waits until the programs before it have succeeded.",
		},
		{"hooks-hint", word, "", speech.Same, "GH_OST_HOOKS_HINT of these programs."},
		{"hooks-hint-owner", word, "", speech.Same, "GH_OST_HOOKS_HINT_OWNER."},
		{"hooks-hint-token", word, "", speech.Same, "GH_OST_HOOKS_HINT_TOKEN."},
		{"hooks-status-interval", whole, "60", speech.Same, "Seconds between two calls of gh-ost-on-status."},
		{
			"statsd-addr", word, "", speech.Noted,
			"Nothing is sent. The lines of a run, midstream watch, and its socket's API have the same (docs/openapi.yaml).",
		},
		{"statsd-tags", list, "", speech.Noted, "Nothing is sent."},
		{"runtime-metrics-interval", whole, "10", speech.Noted, "Nothing is sent."},
	}
}
