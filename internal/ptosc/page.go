package ptosc

import (
	"fmt"
	"strings"
)

// ExitCode is one of that program's, and when it comes here.
type ExitCode struct {
	Code int
	Name string
	When string // "" if it does not come
}

// ExitCodes lists all that its manual has.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitDone, "", "The table is altered, or what was asked for is done: a dry run, a run without the swap."},
		{exitInvalid, "INVALID_PARAMETERS", "The command line is wrong, or has an option that is refused; neither --dry-run nor --execute was said; rows don't fit or differ; " +
			"a signal has ended the run; or the table was not altered for a reason that has no code. The message tells."},
		{exitVersion, "UNSUPPORTED_MYSQL_VERSION", "The plan refuses the server's version."},
		{exitLacking, "NO_MINIMUM_REQUIREMENTS", "The plan refuses the server or the account: no binlog of rows, a cluster, privileges."},
		{exitNoKey, "NO_PRIMARY_OR_UNIQUE_KEY", "There is no key by which rows could be followed. (Where the server can change the table by itself none is needed.)"},
		{exitPlugin, "INVALID_PLUGIN_FILE", "--plugin was said."},
		{6, "INVALID_ALTER_FK_METHOD", ""},
		{7, "INVALID_KEY_SIZE", ""},
		{9, "CANNOT_DETERMINE_KEY_SIZE, NOT_SAFE_TO_ASCEND", ""},
		{exitCreating, "ERROR_CREATING_NEW_TABLE", "The new table could not be made, or its name is another table's."},
		{exitAltering, "ERROR_ALTERING_TABLE", "The ALTER is wrong, the server refuses it, or there is no such table."},
		{12, "ERROR_CREATING_TRIGGERS", ""},
		{13, "ERROR_RESTORING_TRIGGERS", ""},
		{exitSwapping, "ERROR_SWAPPING_TABLES", "The lock could not be had for as long as --tries allows, or nobody knows whether the swap has happened. The work is kept; the same command goes on."},
		{15, "ERROR_UPDATING_FKS", ""},
		{exitDropping, "ERROR_DROPPING_OLD_TABLE", "The table is altered, and not everything could be removed after that."},
		{exitUnsupported, "UNSUPPORTED_OPERATION", "The plan refuses the change; or --resume or --history can't be done."},
		{exitConnecting, "MYSQL_CONNECTION_ERROR", "The server can't be reached."},
		{exitLost, "LOST_MYSQL_CONNECTION", "The server could not be reached any more, for ten minutes. The work is kept; the same command goes on."},
		{20, "ERROR_CREATING_REVERSE_TRIGGERS", ""},
		{exitStopped, "", "The replication of a replica that is looked at has stopped, and --fail-on-stopped-replication holds."},
	}
}

// Page is docs/pt-osc-flags.md.
func Page() string {
	var b strings.Builder
	b.WriteString("# What becomes of pt-online-schema-change's options\n\n" +
		"All options of version 3.7, as `midstream pt-online-schema-change`, or a link of the name `pt-online-schema-change` to midstream, takes them. " +
		"[coming-from-pt-osc.md](coming-from-pt-osc.md) tells what is the same, and what differs.\n\n" +
		"- **same**: it does what it does there.\n- **noted**: it is taken, has no meaning here, and a note on standard error tells why.\n- **refused**: exit code 1, with the reason.\n\n" +
		"| option | value | default there | | what becomes of it |\n|---|---|---|---|---|\n")
	for _, o := range Options() {
		name := "`--" + o.Name + "`"
		if o.Kind == yesNo {
			name = "`--[no]" + o.Name + "`"
		}
		if o.Short != "" {
			name += ", `-" + o.Short + "`"
		}
		value := string(o.Kind)
		if o.Kind == yesNo {
			value = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, value, o.Default, o.Fate, o.Becomes)
	}
	b.WriteString("\n## Exit codes\n\n| code | its name there | when it comes |\n|---|---|---|\n")
	for _, e := range ExitCodes() {
		when := e.When
		if when == "" {
			when = "never"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, e.Name, when)
	}
	return b.String()
}
