package ptosc

import (
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`^([A-Za-z0-9_.]+)=(\S+)$`)

// ours are the variables of sessions on which the proof rests, and why they stay.
var ours = map[string]string{
	"wait_timeout":             "connections are kept alive",
	"lock_wait_timeout":        "it only bounds how long the run tries (--tries), and no session waits for the swap for longer than --lock-wait of midstream run",
	"innodb_lock_wait_timeout": "no row of the table is locked",
	"sql_mode":                 "the row copy uses STRICT_ALL_TABLES, and the ALTER the server's own mode",
	"transaction_isolation":    "Midstream uses READ COMMITTED",
	"tx_isolation":             "Midstream uses READ COMMITTED",
	"autocommit":               "transactions are made by the statement",
	"time_zone":                "the server's value applies, for copy and changes",
	"foreign_key_checks":       "keys are checked",
	"unique_checks":            "keys are checked",
	"binlog_format":            "changes are read as rows",
	"binlog_row_image":         "the key columns are all that is read",
	"character_set_client":     "Midstream uses utf8mb4",
}

// sessions reads --set-vars.
func (r *reading) sessions() {
	r.asked.Variables = map[string]string{}
	for _, part := range splitList(r.said.last("set-vars")) {
		if part == "" {
			continue
		}
		parts := variable.FindStringSubmatch(part)
		if parts == nil {
			r.problem("Invalid --set-vars value: %s", part)
			continue
		}
		name := strings.ToLower(parts[1])
		why, is := ours[name]
		switch {
		case name == "sql_log_bin":
			r.problem("--set-vars sql_log_bin is refused: replicas would keep the old table")
		case is:
			r.note("--set-vars %s is not set: %s", name, why)
		default:
			r.asked.Variables[name] = parts[2]
		}
	}
}

// variable is what --set-vars says of one.
func (a *Asked) variable(name string) (value string, is bool) {
	for _, part := range splitList(a.said.last("set-vars")) {
		if parts := variable.FindStringSubmatch(part); parts != nil && strings.EqualFold(parts[1], name) {
			value, is = parts[2], true
		}
	}
	return value, is
}
