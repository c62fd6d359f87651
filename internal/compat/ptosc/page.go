package ptosc

import "midstream/internal/compat/speech"

// ExitCodes lists all that its manual has.
func ExitCodes() []speech.ExitCode {
	return []speech.ExitCode{
		{Code: ExitDone, When: "The table is altered, or the run did what you asked for: a dry run, a run without the swap."},
		{
			Code: exitInvalid,
			Name: "INVALID_PARAMETERS",
			When: "The command line is wrong, or has an option that is refused, or has neither --dry-run nor --execute. Or rows don't fit or differ, " +
				"a signal has ended the run, or the table was not altered for a reason that has no code. The message explains it.",
		},
		{Code: exitVersion, Name: "UNSUPPORTED_MYSQL_VERSION", When: "The plan refuses the server's version."},
		{
			Code: exitLacking,
			Name: "NO_MINIMUM_REQUIREMENTS",
			When: "The plan refuses the server or the account: no binlog of rows, a cluster, privileges.",
		},
		{
			Code: exitNoKey,
			Name: "NO_PRIMARY_OR_UNIQUE_KEY",
			When: "There is no key by which rows could be followed. (If the server can change the table by itself, no key is needed.)",
		},
		{Code: exitPlugin, Name: "INVALID_PLUGIN_FILE", When: "The command line has --plugin."},
		{Code: 6, Name: "INVALID_ALTER_FK_METHOD"},
		{Code: 7, Name: "INVALID_KEY_SIZE"},
		{Code: 9, Name: "CANNOT_DETERMINE_KEY_SIZE, NOT_SAFE_TO_ASCEND"},
		{Code: exitCreating, Name: "ERROR_CREATING_NEW_TABLE", When: "The new table could not be made, or its name is another table's."},
		{Code: exitAltering, Name: "ERROR_ALTERING_TABLE", When: "The ALTER is wrong, the server refuses it, or the table does not exist."},
		{Code: 12, Name: "ERROR_CREATING_TRIGGERS"},
		{Code: 13, Name: "ERROR_RESTORING_TRIGGERS"},
		{
			Code: exitSwapping,
			Name: "ERROR_SWAPPING_TABLES",
			When: "The run did not get the lock within the time of --tries, or it is unknown whether the swap has happened. The work is kept; the same command resumes.",
		},
		{Code: 15, Name: "ERROR_UPDATING_FKS"},
		{
			Code: exitDropping,
			Name: "ERROR_DROPPING_OLD_TABLE",
			When: "The table is altered, and not everything could be removed after that.",
		},
		{
			Code: exitUnsupported,
			Name: "UNSUPPORTED_OPERATION",
			When: "The plan refuses the change; or --resume or --history can't be done.",
		},
		{Code: exitConnecting, Name: "MYSQL_CONNECTION_ERROR", When: "The server can't be reached."},
		{
			Code: exitLost,
			Name: "LOST_MYSQL_CONNECTION",
			When: "The server could not be reached any more, for ten minutes. The work is kept; the same command resumes.",
		},
		{Code: 20, Name: "ERROR_CREATING_REVERSE_TRIGGERS"},
		{Code: exitStopped, When: "The replication of a watched replica has stopped, and --fail-on-stopped-replication is on."},
	}
}

// Page is docs/pt-osc-flags.md.
func Page() string {
	var rows []speech.Row
	for _, o := range Options() {
		rows = append(rows, o.row())
	}
	return "# pt-online-schema-change's options, and what they do here\n\n" +
		"All options of version 3.7, as `midstream pt-online-schema-change`, or a link of the name `pt-online-schema-change` to midstream, takes them.\n" +
		"[coming-from-pt-osc.md](coming-from-pt-osc.md) lists what is the same, and what differs.\n\n" +
		speech.Table(rows, "option", exitInvalid) + speech.ExitCodes(ExitCodes())
}
