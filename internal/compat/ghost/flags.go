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
	triggers = "Whether triggers of the table are carried over is the plan's: where it can, it does so, under their own names, and else it refuses."
	always   = "always done, whatever is said"
	named    = "The server that was named is used as it was named"
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
			"A file with user and password in its group [client]; ${NAME} is a variable of the environment. What the command line says counts more. It is read once.",
		},
		{"master-user", word, "", speech.Same, "The account on the primary, with --assume-master-host."},
		{"master-password", word, "", speech.Same, "The password there, with --assume-master-host."},
		{"assume-master-host", word, "", speech.Same, "The primary, as host or host:port. Nothing is looked for then."},
		{"allow-on-master", onOff, "", speech.Same, "The server of --host may be the primary itself."},
		{
			"allow-master-master", onOff, "", speech.Same,
			"Primaries may replicate from each other: the one that is not read-only is changed. Where both take writes --assume-master-host must say which.",
		},
		{"tungsten", onOff, "", speech.Noted, "--assume-master-host says which is the primary, whatever replicates."},
		{"aliyun-rds", onOff, "", speech.Noted, named + "."},
		{"gcp", onOff, "", speech.Noted, named + "."},
		{"azure", onOff, "", speech.Noted, named + "."},
		{"skip-port-validation", onOff, "", speech.Noted, named + ": what it says of its port is not looked at."},
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
		{"database", word, "", speech.Same, "The table's database, where --alter does not say it."},
		{"table", word, "", speech.Same, "The table, where --alter does not say it."},
		{"alter", word, "", speech.Same, "The clauses, or the whole ALTER TABLE."},
		{
			"execute", onOff, "", speech.Same,
			"Change the table. Without it all is checked that can be without reading its rows; the server is asked on an empty copy of the table, which is dropped.",
		},
		{
			"attempt-instant-ddl", onOff, "", speech.Same,
			"The server changes the table itself where it need only change its dictionary; with --ok-to-drop-table also where it can build in place within bounds (midstream plan tells). Its lock is asked for like that of the swap.",
		},
		{"storage-engine", word, "innodb", speech.Same, "innodb. rocksdb is refused."},
		{
			"approve-renamed-columns", onOff, "", speech.Same,
			"Columns that CHANGE renames keep their values. Without it such an ALTER is refused. (RENAME COLUMN needs no word.)",
		},
		{
			"skip-renamed-columns", onOff, "", speech.Refused,
			"A rename that loses the values is DROP COLUMN and ADD COLUMN: say so in --alter.",
		},
		{
			"discard-foreign-keys", onOff, "", speech.Same,
			"The new table has none of the table's own foreign keys: a DROP FOREIGN KEY for each goes with the ALTER. Without it they are carried over, or the plan refuses. Those of other tables that refer to it are carried over in any case.",
		},
		{"skip-foreign-key-checks", onOff, "", speech.Noted, "The plan looks at foreign keys: " + always + ". It takes no time."},
		{"allow-nullable-unique-key", onOff, "", speech.Noted, "The plan chooses the key, and says why another one can't be followed."},
		{"include-triggers", onOff, "", speech.Noted, triggers},
		{"trigger-suffix", word, "", speech.Noted, triggers},
		{"remove-trigger-suffix-if-exists", onOff, "", speech.Noted, triggers},
		{"force-table-names", word, "", speech.Same, "The word of which the tables' names are made, in place of the table's name."},
		{
			"initially-drop-ghost-table", onOff, "", speech.Same,
			"What an earlier run has left is removed first, and any other table of the new table's name is dropped. Without it the same ALTER goes on with what was left, and another table of that name refuses the run.",
		},
		{
			"initially-drop-old-table", onOff, "", speech.Same,
			"A table of the old table's name is dropped first. Without it such a table refuses the run.",
		},
		{"revert", onOff, "", speech.Refused, "The old table is not kept in step after the swap. The way back is another ALTER."},
		{"old-table", word, "", speech.Refused, "It is for --revert."},
	}
}

// copying are the flags about rows and changes.
func copying() []Flag {
	return []Flag{
		{"chunk-size", whole, "1000", speech.Noted, byTime},
		{"dml-batch-size", whole, "10", speech.Noted, "Keys that have changed are gathered, and synced in lists as large as serves."},
		{
			"default-retries", whole, "60", speech.Same,
			"How often the swap is tried, as a time: so often --cut-over-lock-timeout-seconds and a second. Then the run ends with its work kept. Other statements are repeated as long as that can help.",
		},
		{
			"exact-rowcount", onOff, "", speech.Noted,
			"The number of rows is the server's estimate, until all are copied. (Nothing but the display depends on it.)",
		},
		{"concurrent-rowcount", onOff, "true", speech.Noted, "Rows are not counted."},
		{
			"skip-strict-mode", onOff, "", speech.Noted,
			"Rows that the new table would not take as they are, are found before the copy, and listed; none is changed silently.",
		},
		{
			"allow-zero-in-date", onOff, "", speech.Same,
			"Defaults of the ALTER may be zero dates, though the server's sql_mode takes none. Where the table has such defaults already, no word is needed.",
		},
		{"panic-on-warnings", onOff, "", speech.Noted, "No row is lost or changed silently: " + always + "."},
		{
			"heartbeat-interval-millis", whole, "100", speech.Noted,
			"A heartbeat comes every 50 to 100 ms, or every 200 ms where triggers capture changes.",
		},
		{
			"checkpoint", onOff, "", speech.Same,
			"A run that is ended by a signal, panic or a flag file keeps its work. (One that was killed, or lost its server, can always be gone on with.)",
		},
		{"checkpoint-seconds", whole, "300", speech.Noted, "A checkpoint is written every five seconds, into the same table."},
		{
			"resume", onOff, "", speech.Same,
			"Go on with an earlier run of the same ALTER, and fail if there is none. The same command goes on also without it.",
		},
	}
}

// waiting are the flags that say for what a run waits.
func waiting() []Flag {
	return []Flag{
		{
			"nice-ratio", real, "0", speech.Same,
			"As a share of the time: the row copy works for 1/(1+ratio) of it. It gives way to the application besides.",
		},
		{"max-lag-millis", whole, "1500", speech.Same, "How far a replica may be behind that is looked at, measured by heartbeats."},
		{"replication-lag-query", word, "", speech.Noted, "It has no effect there either."},
		{
			"throttle-control-replicas", word, "", speech.Same,
			"Replicas that are looked at, beside the one of --host. Where neither names one, those that the primary tells are.",
		},
		{
			"throttle-query", word, "", speech.Same,
			"Holds the copy and the comparisons; changes are still applied. Asked once a second. One about the table of heartbeats (_ghc), which is not there, is left out with a note; any other must work from the beginning, and while it fails the run waits.",
		},
		{
			"throttle-http", word, "", speech.Same,
			"Holds the copy and the comparisons; changes are still applied. Asked once a second by GET; the run waits while the answer is no 2xx, or there is none. Without http:// or https:// it has no effect, as there.",
		},
		{"throttle-http-interval-millis", whole, "100", speech.Noted, "Once a second."},
		{"throttle-http-timeout-millis", whole, "1000", speech.Noted, "Ten seconds, after which the run waits."},
		{
			"ignore-http-errors", onOff, "", speech.Refused,
			"The run waits for what can't be looked at. Leave the URL out, or make it one that answers.",
		},
		{"throttle-flag-file", word, "", speech.Same, "The copy waits while the file is there; changes are still applied."},
		{"throttle-additional-flag-file", word, "/tmp/gh-ost.throttle", speech.Same, "The same, for all runs of a machine."},
		{"max-load", word, "", speech.Same, "The copy waits while a status variable is above; changes are still applied."},
		{"critical-load", word, "", speech.Same, "The run ends when a status variable is above, in two looks in a row."},
		{"critical-load-interval-millis", whole, "", speech.Noted, "There is a second look, half a second later, in any case."},
		{
			"critical-load-hibernate-seconds", whole, "", speech.Same,
			"Where it is said, the run waits in place of ending as long as the load is critical.",
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
			"It counts for how long is tried (--default-retries). Nobody waits so long: the lock is asked for for 250 ms at a time (--lock-wait of midstream run), and not while somebody holds it.",
		},
		{
			"cut-over-exponential-backoff", onOff, "", speech.Same,
			"It counts for how long is tried; the pauses between two requests grow in any case, up to ten seconds.",
		},
		{"exponential-backoff-max-interval", whole, "64", speech.Same, "The longest pause that counts so."},
		{
			"postpone-cut-over-flag-file", word, "", speech.Same,
			"The file is made if it is not there, and the swap waits until it is gone; changes are applied meanwhile.",
		},
		{"ok-to-drop-table", onOff, "", speech.Same, "The old table is dropped after the swap."},
		{"timestamp-old-table", onOff, "", speech.Same, "The old table's name has the time in it: _t_20260304050607_del."},
		{"analyze-ghost-table-before-cutover", onOff, "", speech.Noted, "The new table is analyzed before the swap: " + always + "."},
		{"allow-setup-metadata-lock-instruments", onOff, "", speech.Noted, "Nothing is set up: the plan says if something is missing."},
		{"skip-metadata-lock-check", onOff, "", speech.Noted, "The swap needs no such look."},
	}
}

// watching are the flags about what is told and obeyed.
func watching() []Flag {
	return []Flag{
		{"quiet", onOff, "", speech.Same, "Nothing but errors on standard error."},
		{"verbose", onOff, "", speech.Same, "Phases too, on standard error."},
		{"debug", onOff, "", speech.Same, "The same as --verbose."},
		{"stack", onOff, "", speech.Noted, "An error says what has failed, why, and what is left on the server."},
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
			"The table is copied on the replica of --host, with nothing of it in the replica's binlog; replication stops, what is left is applied, and _t_gho stays, equal to the table. The table itself is not renamed, not even for a moment.",
		},
		{
			"test-on-replica-skip-replica-stop", onOff, "", speech.Same,
			"Replication goes on: the table goes on changing after the end, and _t_gho does not.",
		},
		{
			"migrate-on-replica", onOff, "", speech.Same,
			"The table is changed on the replica of --host. What is written comes into its binlog, as there: transactions that no other server has. It must take writes (read_only is OFF).",
		},
		{
			"panic-flag-file", word, "", speech.Same,
			"The run ends once the file is there (exit code 1). What it has made is removed, or kept with --checkpoint.",
		},
		{"force-named-cut-over", onOff, "", speech.Same, "The command cut-over must name the table."},
		{"force-named-panic", onOff, "", speech.Same, "The command panic must name the table."},
		{
			"serve-socket-file", word, "", speech.Same,
			"The socket at which the run takes commands: /tmp/gh-ost.DATABASE.TABLE.sock if none is named. midstream status, pause, set and so on reach it besides.",
		},
		{"serve-tcp-port", whole, "", speech.Same, "The same by TCP. Whoever can reach the port can command the run."},
		{
			"initially-drop-socket-file", onOff, "", speech.Same,
			"A socket file that is there is removed, though another run may listen at it. One at which nobody listens is removed in any case.",
		},
		{
			"hooks-path", word, "", speech.Same,
			"The folder of the programs that are called at certain moments; all of them, with all of their variables. One that fails ends the run. The swap is not made before those that come before it have succeeded.",
		},
		{"hooks-hint", word, "", speech.Same, "GH_OST_HOOKS_HINT of these programs."},
		{"hooks-hint-owner", word, "", speech.Same, "GH_OST_HOOKS_HINT_OWNER."},
		{"hooks-hint-token", word, "", speech.Same, "GH_OST_HOOKS_HINT_TOKEN."},
		{"hooks-status-interval", whole, "60", speech.Same, "Seconds between two calls of gh-ost-on-status."},
		{
			"statsd-addr", word, "", speech.Noted,
			"Nothing is sent. What a run tells stands in its lines, in midstream watch, and in its socket's API (docs/openapi.yaml).",
		},
		{"statsd-tags", list, "", speech.Noted, "Nothing is sent."},
		{"runtime-metrics-interval", whole, "10", speech.Noted, "Nothing is sent."},
	}
}
