package ptosc

import "midstream/internal/compat/speech"

// kind is the kind of an option's value.
type kind string

const (
	onOff  kind = ""       // said or not
	yesNo  kind = "yes/no" // --x, --no-x, --nox
	word   kind = "string"
	whole  kind = "int"
	real   kind = "float"
	volume kind = "size" // with k, M, G
	span   kind = "time" // with s, m, h, d
	list   kind = "list" // with commas between
	dsn    kind = "DSN"
)

// Option is one of pt-online-schema-change's.
type Option struct {
	Name    string
	Short   string // its letter; "" for none
	Kind    kind
	Default string
	Fate    speech.Fate
	// Becomes tells people what is done about it.
	Becomes string
}

const (
	byTime = "A chunk is as many rows as fit in --chunk-time, by the key that the plan chooses, in exact ranges."
	always = "always done, with or without this option"
	// sessions are in sessionsOf.
	sessions = "and 10 more of Threads_running, 20 of Threads_connected, for the sessions of the run."
)

// Options lists all of version 3.7, in the order of its manual.
func Options() []Option {
	return append(append(work(), limits()...), ends()...)
}

// work are the options that say what is changed and how rows are copied.
func work() []Option {
	return []Option{
		{
			Name:    "alter",
			Kind:    word,
			Fate:    speech.Same,
			Becomes: "The clauses of the ALTER TABLE. None: the table is built again. A foreign key is dropped by its own name, without the underscore.",
		},
		{
			Name:    "alter-foreign-keys-method",
			Kind:    word,
			Fate:    speech.Noted,
			Becomes: "The plan shows whether tables that refer to this one can be served, and refuses if not. No method leaves a moment without the table, or a key that refers to nothing.",
		},
		{
			Name:    "analyze-before-swap",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Noted,
			Becomes: "The new table is analyzed before the swap: " + always + ".",
		},
		{Name: "ask-pass", Kind: onOff, Fate: speech.Same, Becomes: "Asks on the terminal, without echo."},
		{Name: "binary-index", Kind: onOff, Fate: speech.Same, Becomes: "The history table is made with BLOB columns."},
		{Name: "buffer-stdout", Kind: yesNo, Default: "yes", Fate: speech.Noted, Becomes: "Every line is written at once."},
		{
			Name:    "channel",
			Kind:    word,
			Fate:    speech.Noted,
			Becomes: "How far a replica is behind is measured by heartbeats, through whatever channel they come.",
		},
		{
			Name:    "charset",
			Short:   "A",
			Kind:    word,
			Fate:    speech.Noted,
			Becomes: "Values are converted by the server, never by the client; connections speak utf8mb4.",
		},
		{
			Name:    "check-alter",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Noted,
			Becomes: "The plan reads the ALTER: renamed columns keep their values, and another primary key is followed if that is possible.",
		},
		{
			Name:    "check-foreign-keys",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Noted,
			Becomes: "The plan looks at foreign keys: " + always + ".",
		},
		{Name: "check-interval", Kind: span, Default: "1", Fate: speech.Noted, Becomes: "Replicas are watched all the time."},
		{Name: "check-plan", Kind: yesNo, Default: "yes", Fate: speech.Noted, Becomes: byTime},
		{Name: "check-replica-lag", Kind: dsn, Fate: speech.Same, Becomes: "Only this replica is watched. You may repeat it."},
		{
			Name:    "check-replication-filters",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Noted,
			Becomes: "Filters of the server's binlog are always refused; filters of replicas are not checked.",
		},
		{Name: "check-slave-lag", Kind: dsn, Fate: speech.Same, Becomes: "The old name of --check-replica-lag."},
		{
			Name:    "check-unique-key-change",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Noted,
			Becomes: "A new unique key is accepted: rows that do not fit it are found before the copy, and listed (exit code 1); no row is lost.",
		},
		{Name: "chunk-index", Kind: word, Fate: speech.Noted, Becomes: byTime},
		{Name: "chunk-index-columns", Kind: whole, Fate: speech.Noted, Becomes: byTime},
		{Name: "chunk-size", Kind: volume, Default: "1000", Fate: speech.Noted, Becomes: byTime},
		{Name: "chunk-size-limit", Kind: real, Default: "4.0", Fate: speech.Noted, Becomes: byTime},
		{
			Name:    "chunk-time",
			Kind:    real,
			Default: "0.5",
			Fate:    speech.Same,
			Becomes: "The most that a chunk may take, from 0.01 to 10 seconds; under traffic it takes less. 0 means the default.",
		},
		{
			Name:    "config",
			Kind:    list,
			Default: "/etc/percona-toolkit/percona-toolkit.conf,/etc/percona-toolkit/pt-online-schema-change.conf,$HOME/.percona-toolkit.conf,$HOME/.pt-online-schema-change.conf",
			Fate:    speech.Same,
			Becomes: "Files of options, the same ones in the same form. It must be the first.",
		},
		{
			Name:    "critical-load",
			Kind:    list,
			Default: "Threads_running=50",
			Fate:    speech.Same,
			Becomes: "The run ends when a status variable is above, in two samples in a row. Without a number: twice what it is at the beginning, " + sessions,
		},
		{
			Name:    "data-dir",
			Kind:    word,
			Fate:    speech.Refused,
			Becomes: "The new table has the table's own place. Another is a second step: ALTER TABLE ... DATA DIRECTORY.",
		},
		{Name: "database", Short: "D", Kind: word, Fate: speech.Same, Becomes: "The database, if the DSN does not name it."},
		{Name: "default-engine", Kind: onOff, Fate: speech.Noted, Becomes: "The new table is an InnoDB table as the old one."},
		{
			Name:    "defaults-file",
			Short:   "F",
			Kind:    word,
			Fate:    speech.Same,
			Becomes: "Read this option file of MySQL's and no other. Its group [midstream] may have more settings (midstream help run).",
		},
		{
			Name:    "drop-new-table",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Same,
			Becomes: "With --no-drop-new-table a run that is ended by a signal keeps its work, and the same command resumes it; with --no-swap-tables the new table stays.",
		},
		{
			Name:    "drop-old-table",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Same,
			Becomes: "With --no-drop-old-table the table is copied even if the server could change it by itself, because otherwise there would be no old table.",
		},
		{
			Name:    "drop-triggers",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Similar,
			Becomes: "There are none to drop. --no-drop-triggers means --no-drop-old-table, as there.",
		},
		{
			Name:    "dry-run",
			Kind:    onOff,
			Fate:    speech.Same,
			Becomes: "Everything that can be checked is checked. The server is asked on an empty copy of the table, which is dropped.",
		},
		{
			Name:    "execute",
			Kind:    onOff,
			Fate:    speech.Same,
			Becomes: "Change the table, by the lightest method: INSTANT, in place, or by a new table.",
		},
		{
			Name:    "fail-on-stopped-replication",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Same,
			Becomes: "A run ends with 128 when a replica's replication has stopped; without it the run waits, and reports it.",
		},
		{Name: "force", Kind: onOff, Fate: speech.Noted, Becomes: "A refusal is always final; no question is asked."},
		{Name: "help", Kind: onOff, Fate: speech.Same, Becomes: "Lists the options."},
		{
			Name:    "history",
			Kind:    onOff,
			Fate:    speech.Same,
			Becomes: "Writes the job into the history table, and at its end that it is done. new_table_name and the boundaries stay NULL: a table of Midstream's own has the work and its progress.",
		},
		{
			Name:    "history-table",
			Kind:    word,
			Default: "percona.pt_osc_history",
			Fate:    speech.Same,
			Becomes: "It is made if it does not exist.",
		},
		{Name: "host", Short: "h", Kind: word, Fate: speech.Same, Becomes: "The server."},
	}
}

// limits are the options that say for what a run waits.
func limits() []Option {
	return []Option{
		{Name: "max-flow-ctl", Kind: real, Fate: speech.Refused, Becomes: "Galera clusters are refused by the plan."},
		{
			Name:    "max-lag",
			Kind:    span,
			Default: "1s",
			Fate:    speech.Same,
			Becomes: "How far a replica may be behind, measured by heartbeats and to the millisecond.",
		},
		{
			Name:    "max-load",
			Kind:    list,
			Default: "Threads_running=25",
			Fate:    speech.Same,
			Becomes: "The run waits while a status variable is above. Without a number: a fifth more than it is at the beginning, " + sessions,
		},
		{Name: "mysql_ssl", Short: "s", Kind: whole, Fate: speech.Same, Becomes: "1: no connection without TLS."},
		{Name: "new-table-name", Kind: word, Default: "%T_new", Fate: speech.Same, Becomes: "The name of the new table while it is built."},
		{
			Name:    "null-to-not-null",
			Kind:    onOff,
			Fate:    speech.Refused,
			Becomes: "Values are not changed silently: rows with NULL are found before the copy, and listed with the UPDATE that would change them.",
		},
		{
			Name:    "only-same-schema-fks",
			Kind:    onOff,
			Fate:    speech.Noted,
			Becomes: "Tables of all databases that refer to this one are checked.",
		},
		{
			Name:    "password",
			Short:   "p",
			Kind:    word,
			Fate:    speech.Same,
			Becomes: "The password. It is overwritten in the process's arguments.",
		},
		{Name: "pause-file", Kind: word, Fate: speech.Same, Becomes: "The run waits while the file exists."},
		{Name: "pid", Kind: word, Fate: speech.Same, Becomes: "The file of the process's number."},
		{
			Name:    "plugin",
			Kind:    word,
			Fate:    speech.Refused,
			Becomes: "There is no Perl here. --json and midstream watch have the events of a run (docs/events.md).",
		},
		{Name: "port", Short: "P", Kind: whole, Fate: speech.Same, Becomes: "The port."},
		{
			Name:    "preserve-triggers",
			Kind:    onOff,
			Fate:    speech.Noted,
			Becomes: "Triggers of the table are always carried over, in the swap, under their names. If that is impossible, the plan refuses.",
		},
		{Name: "print", Kind: onOff, Fate: speech.Similar, Becomes: "Prints the statements that make, alter, swap and drop tables."},
		{
			Name:    "progress",
			Kind:    list,
			Default: "time,30",
			Fate:    speech.Same,
			Becomes: "How often a line of progress comes: time,seconds or percentage,n; iterations,n is taken as time,30.",
		},
		{Name: "quiet", Short: "q", Kind: onOff, Fate: speech.Same, Becomes: "Nothing on standard output, and no progress."},
		{
			Name:    "recurse",
			Kind:    whole,
			Fate:    speech.Noted,
			Becomes: "The replicas of the server itself are watched; name others with --check-replica-lag or --recursion-method=dsn=...",
		},
		{
			Name:    "recursion-method",
			Kind:    list,
			Default: "processlist,hosts",
			Fate:    speech.Same,
			Becomes: "processlist and hosts: the replicas in SHOW REPLICAS. dsn=DSN: the replicas in the table, read once. none: none.",
		},
		{
			Name:    "remove-data-dir",
			Kind:    onOff,
			Default: "no",
			Fate:    speech.Refused,
			Becomes: "The new table has the table's own place. Another is a second step.",
		},
		{
			Name:    "remove-tablespace",
			Kind:    onOff,
			Fate:    speech.Refused,
			Becomes: "The new table has the table's own place. Another is a second step: ALTER TABLE ... TABLESPACE.",
		},
		{Name: "replica-password", Kind: word, Fate: speech.Same, Becomes: "The password for the replicas."},
		{Name: "replica-user", Kind: word, Fate: speech.Same, Becomes: "The account for the replicas."},
		{
			Name:    "resume",
			Kind:    whole,
			Fate:    speech.Same,
			Becomes: "Resumes the job of the history table. Midstream always resumes the work that it finds, also without --history.",
		},
		{Name: "reverse-triggers", Kind: onOff, Fate: speech.Similar, Becomes: reversed},
	}
}

// ends are the other options.
func ends() []Option {
	return []Option{
		{
			Name:    "set-vars",
			Kind:    list,
			Fate:    speech.Same,
			Becomes: "Variables of all sessions, except the variables on which the proof depends. Midstream sets these itself and prints a note: the locks' (each wait is bounded by --lock-wait), sql_mode, isolation, binlog and checks. sql_log_bin is refused. A variable that can't be set is an error.",
		},
		{Name: "skip-check-replica-lag", Kind: dsn, Fate: speech.Same, Becomes: "This replica is not watched."},
		{Name: "skip-check-slave-lag", Kind: dsn, Fate: speech.Same, Becomes: "The old name of --skip-check-replica-lag."},
		{Name: "slave-password", Kind: word, Fate: speech.Same, Becomes: "The old name of --replica-password."},
		{Name: "slave-user", Kind: word, Fate: speech.Same, Becomes: "The old name of --replica-user."},
		{
			Name:    "sleep",
			Kind:    real,
			Default: "0",
			Fate:    speech.Similar,
			Becomes: "As a share of the time: the row copy works for --chunk-time out of --chunk-time and this.",
		},
		{Name: "socket", Short: "S", Kind: word, Fate: speech.Same, Becomes: "The socket file."},
		{Name: "statistics", Kind: onOff, Fate: speech.Similar, Becomes: "Counts of Midstream's own, in the same form."},
		{
			Name:    "swap-tables",
			Kind:    yesNo,
			Default: "yes",
			Fate:    speech.Similar,
			Becomes: "With --no-swap-tables the run is rehearsed: everything but the swap.",
		},
		{
			Name:    "tries",
			Kind:    list,
			Fate:    speech.Similar,
			Becomes: "swap_tables counts, as a time: the run tries for as long as so many attempts would take there (each lock_wait_timeout, 60 s unless --set-vars sets it, and the wait). Then it ends with 14, and the same command resumes. The others are not needed.",
		},
		{Name: "user", Short: "u", Kind: word, Fate: speech.Same, Becomes: "The account."},
		{Name: "version", Kind: onOff, Fate: speech.Same, Becomes: "The version whose command line it is, and Midstream's."},
		{Name: "version-check", Kind: yesNo, Default: "yes", Fate: speech.Noted, Becomes: "Nothing is ever sent anywhere."},
		{Name: "where", Kind: word, Fate: speech.Similar, Becomes: "--keep. The old table has the other rows, so it is never dropped. The server must find that the condition depends on nothing but the row."},
	}
}

// row is the option in a list.
func (o Option) row() speech.Row {
	name, value := "`--"+o.Name+"`", string(o.Kind)
	if o.Kind == yesNo {
		name, value = "`--[no]"+o.Name+"`", ""
	}
	if o.Short != "" {
		name += ", `-" + o.Short + "`"
	}
	return speech.Row{Name: name, Value: value, Default: o.Default, Fate: o.Fate, Becomes: o.Becomes}
}
