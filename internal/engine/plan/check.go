package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// The codes of risks about the server.
const (
	CodeVersion      Code = "version"
	CodeLogBin       Code = "log-bin"
	CodeBinlogFormat Code = "binlog-format"
	CodeBinlogFilter Code = "binlog-filter"
	CodeCommitOrder  Code = "commit-order"
	CodeReadOnly     Code = "read-only"
	CodeReplica      Code = "replica"
	CodeFollows      Code = "follows-another"
	CodeCluster      Code = "cluster"
	CodeMDL          Code = "metadata-locks"
)

// checkServer checks the kind of server and how it logs.
func (c *checker) checkServer() {
	f := c.facts
	if !f.Version.AtLeast(5, 7, 0) {
		c.block(CodeVersion, f.Version.String()+" is too old", "MySQL 5.7 is the oldest server that is supported", "")
	}
	if c.captured.By == CaptureTrigger {
		c.checkTriggerCapture()
	} else {
		c.checkBinlog()
	}
	c.checkWritable()
	if !f.PerformanceSchema {
		c.warn(
			CodeMDL,
			"performance_schema is OFF",
			"the run cannot measure the application's statements: it copies rows at full speed, despite --max-slowdown, unless --copy-share or --max-load bound it; "+
				"sessions that block the cut-over can't be named, and a run waits for sessions of a killed run, and cannot kill them",
			"",
		)
	} else if !f.MDLInstrument && !f.InstrumentUnknown {
		c.warn(CodeMDL, "performance_schema doesn't record metadata locks",
			"sessions that block the cut-over can't be named",
			"UPDATE performance_schema.setup_instruments SET enabled = 'YES' WHERE name = 'wait/lock/metadata/sql/mdl'")
	}
}

func (c *checker) checkBinlog() {
	f, database := c.facts, c.table.Name.Schema
	if !f.LogBin {
		c.block(CodeLogBin, "the server writes no binlog (log_bin is OFF)", "changes are read from it",
			"Start the server with log_bin, or give another server of the topology")
		return
	}
	if f.BinlogFormat != "ROW" {
		c.block(CodeBinlogFormat, "binlog_format is "+f.BinlogFormat, "statements in the binlog don't show which rows they changed",
			"SET GLOBAL binlog_format = 'ROW', then let the applications reconnect")
	}
	if f.hidesSchema(database) {
		c.block(CodeBinlogFilter, "the binlog leaves out schema "+database+" (binlog_do_db, binlog_ignore_db)",
			"a run would miss changes of the table", "Start the server without that filter")
	}
	if !f.CommitOrder {
		c.warn(CodeCommitOrder, "binlog_order_commits is OFF",
			"the run reads rows with FOR SHARE, so a sync waits for transactions that change its rows",
			"SET GLOBAL binlog_order_commits = ON")
	}
}

func (c *checker) checkWritable() {
	f := c.facts
	c.checkReplica()
	if c.options.Purpose == RehearsingOnReplica {
		c.checkOnReplica()
	} else if f.ReadOnly || f.SuperReadOnly {
		primary := "Connect to the primary"
		if f.GroupPrimary != "" {
			primary += " of the group, " + f.GroupPrimary
		}
		c.block(CodeReadOnly, "the server is read-only", "it looks like a replica, and nothing can be written", primary)
	}
	if f.Galera || f.MultiPrimary {
		c.block(CodeCluster, "the server is one of several that take writes",
			"a table lock holds on only one of them, so no cut-over is safe",
			"Change to a single primary, or run the ALTER natively")
	}
}

// CodeGrants is the code of missing privileges.
const CodeGrants Code = "grants"

// The privileges that a run needs. TRIGGER and PROCESS let the account see things: without TRIGGER
// the server shows no triggers, as if none existed.
var (
	onTables = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX", "TRIGGER"}
	// onSchema are privileges that the server grants on schemas only. Prescan and verify convert values in temporary tables,
	// and so does a sync if the key is converted, or if an undo keeps columns.
	onSchema   = []string{"LOCK TABLES", "CREATE TEMPORARY TABLES"}
	forBinlog  = []string{"REPLICATION SLAVE", "REPLICATION CLIENT"}
	forLooking = []string{"PROCESS"}
	// forXA is for XA RECOVER, on MySQL 8.0 and later. A run works without it.
	forXA = "XA_RECOVER_ADMIN"
	// watched are the tables of performance_schema that show who holds a lock or an old snapshot.
	// No account can read them without a grant.
	watched = []string{"metadata_locks", "threads", "session_connect_attrs", "events_statements_current", "events_transactions_current"}
)

// instruments shows whether metadata locks are recorded at all.
const instruments = "setup_instruments"

// checkGrants finds all missing privileges, and the statements that grant them.
func (c *checker) checkGrants() {
	g, name := &c.facts.Grants, c.table.Name
	tables := []string{name.Table}
	for _, n := range append(c.names.All(), c.namesOfUndo()...) {
		tables = append(tables, n.Table)
	}
	var missing []string
	for _, p := range onTables {
		if slices.ContainsFunc(tables, func(t string) bool { return !g.On(p, name.Schema, t) }) {
			missing = append(missing, p)
		}
	}
	for _, p := range onSchema {
		if !g.On(p, name.Schema, "") {
			missing = append(missing, p)
		}
	}
	c.missing(missing, grantSchema(name.Schema, g.LiteralNames)+".*",
		"the table, its shadow and the swap need them")

	c.missing(c.lackedOf(onServer(c.captured.By)), "*.*", "the run reads the binlog and the list of transactions with them")

	c.checkReadable(append([]string{instruments}, watched...), "the run finds there the sessions that block the cut-over")
	if !c.facts.Version.MariaDB && c.facts.Version.AtLeast(8, 0, 0) && !g.Global(forXA) {
		what, fix := c.lack([]string{forXA}, "*.*")
		c.warn(CodeGrants, what, "the run cannot see XA transactions that were prepared before it started: rows of a transaction that is "+
			"committed later would be missing", fix)
	}
}

// CodeKills is the code of what prevents killing sessions.
const CodeKills Code = "kills"

// checkKills checks, if the operator allows kills, that the account can kill sessions of other
// accounts. It also checks that the server shows which sessions must be spared.
func (c *checker) checkKills() {
	f := c.facts
	switch {
	case !c.options.Kills:
	case !f.PerformanceSchema || !f.MDLInstrument && !f.InstrumentUnknown:
		c.block(
			CodeKills, "--kill-blockers-after needs to see who holds a lock",
			"performance_schema doesn't record metadata locks", "Leave it out, or turn their recording on",
		)
	case !f.Grants.Global("SUPER") && !f.Grants.Global("CONNECTION_ADMIN"):
		privilege := "CONNECTION_ADMIN"
		if f.Version.MariaDB || !f.Version.AtLeast(8, 0, 0) {
			privilege = "SUPER"
		}
		what, fix := c.lack([]string{privilege}, "*.*")
		tell := c.block
		if f.Scratch != "" {
			tell = c.warn
		}
		tell(CodeKills, what, "the run kills sessions of other accounts with it (--kill-blockers-after)", fix)
	}
}

// HindersKills returns what prevents killing sessions; nil if nothing does.
func HindersKills(facts *Facts) *Risk {
	c := checker{facts: facts, options: Options{Kills: true}}
	c.checkKills()
	if len(c.blocking) == 0 {
		return nil
	}
	return &c.blocking[0]
}

// checkReadable finds the given tables of performance_schema that exist and that the account may
// not read.
func (c *checker) checkReadable(tables []string, why string) {
	f := c.facts
	if !f.PerformanceSchema {
		return
	}
	read := []string{"SELECT"}
	var hidden []string
	for _, t := range tables {
		if !f.Grants.On("SELECT", "performance_schema", t) || t == instruments && f.InstrumentUnknown {
			hidden = append(hidden, t)
		}
	}
	if len(hidden) == len(tables) {
		c.missing(read, grantSchema("performance_schema", f.Grants.LiteralNames)+".*", why)
		return
	}
	for _, t := range hidden {
		c.missing(read, schema.Name{Schema: "performance_schema", Table: t}.Quoted(), why)
	}
}

// missing blocks because of privileges on one object, with the statement that grants them.
func (c *checker) missing(privileges []string, object, why string) {
	if len(privileges) == 0 {
		return
	}
	what, fix := c.lack(privileges, object)
	c.block(CodeGrants, what, why, fix)
}

// lack describes which privileges the account lacks on one object, and how to grant them.
func (c *checker) lack(privileges []string, object string) (what, fix string) {
	names := strings.Join(privileges, ", ")
	return fmt.Sprintf("account %s lacks %s on %s", c.facts.User, names, object),
		fmt.Sprintf("GRANT %s ON %s TO %s", names, object, account(c.facts.User))
}

// grantSchema quotes a schema for GRANT, where _ and % are wildcards.
func grantSchema(name string, literal bool) string {
	name = strings.ReplaceAll(name, "`", "``")
	if !literal {
		name = strings.NewReplacer("_", `\_`, "%", `\%`, `\`, `\\`).Replace(name)
	}
	return "`" + name + "`"
}

// account quotes CURRENT_USER(): the host follows the last @.
func account(user string) string {
	name, host := user, "%"
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		name, host = user[:i], user[i+1:]
	}
	quote := func(s string) string { return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'" }
	return quote(name) + "@" + quote(host)
}
