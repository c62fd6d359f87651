package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// Capture is a way to find out which rows change while the run copies them.
type Capture string

// The ways of capture.
const (
	CaptureBinlog  Capture = "binlog"  // of the server or its replica
	CaptureTrigger Capture = "trigger" // triggers write keys into a table
)

// Captured is how changes are captured, and why.
type Captured struct {
	By  Capture
	Why string `json:",omitempty"` // set unless the binlog is the default
}

// CodeCaptureTrigger is the code of what operators must know of capture by triggers, or what
// prevents it.
const CodeCaptureTrigger Code = "capture-trigger"

// chooseCapture takes the binlog if it can be read and has rows. Otherwise it takes triggers if
// they can work.
func (c *checker) chooseCapture() {
	c.captured = Captured{By: CaptureBinlog}
	switch lacks, hindered := c.unreadable(), c.hinderTriggers(); {
	case c.options.Back.Adopts() && c.options.Back.Log != "":
		c.captured = Captured{By: CaptureTrigger, Why: "triggers have logged the changes since the swap"}
	case c.options.Capture == CaptureTrigger:
		c.captured = Captured{By: CaptureTrigger, Why: "--capture=trigger asks for it"}
	case c.options.Capture == CaptureBinlog, len(lacks) == 0:
	case len(hindered) == 0:
		c.captured = Captured{By: CaptureTrigger, Why: "the binlog can't be used: " + strings.Join(lacks, "; ")}
	default:
		for _, fault := range hindered {
			c.warn(CodeCaptureTrigger, "triggers can't capture changes either: "+fault.What, fault.Why, fault.Fix)
		}
	}
	if c.captured.By == CaptureTrigger {
		c.nameLogs()
	}
}

// nameLogs names the tables that triggers write to. A lazy undo reads the log of the change.
func (c *checker) nameLogs() {
	back := c.options.Back
	c.names.Log = LogOf(c.table.Name)
	if back.Adopts() && back.Log != "" {
		c.names.Log = c.table.Name.Sibling(back.Log)
	}
	if !c.options.Purpose.Swaps() || !c.options.KeepsUndo && back == nil {
		return
	}
	for _, name := range SinceNames(c.table.Name) {
		taken := slices.ContainsFunc(c.facts.Taken, func(t Taken) bool { return c.facts.sameTable(t.Name, name) })
		if !taken || c.stopped() && name != c.names.Log {
			c.names.Since = name
			break
		}
	}
}

// unreadable is why changes of the table can't be read in this server's binlog.
func (c *checker) unreadable() (lacks []string) {
	f := c.facts
	if f.Capture != nil || f.IsReplica {
		return nil // triggers don't work there
	}
	switch {
	case !f.LogBin:
		return []string{"log_bin is OFF"}
	case f.BinlogFormat != "ROW":
		lacks = append(lacks, "binlog_format is "+f.BinlogFormat)
	case f.hidesSchema(c.table.Name.Schema):
		lacks = append(lacks, "it leaves out schema "+c.table.Name.Schema)
	}
	if missing := c.lackedOf(forBinlog); len(missing) > 0 {
		what, fix := c.lack(missing, "*.*")
		lacks = append(lacks, what+" ("+fix+")")
	}
	return lacks
}

// backticked reports whether a name in our triggers has a backtick.
func backticked(t *schema.Table) bool {
	return strings.Contains(t.Name.Schema+t.Name.Table, "`") || slices.ContainsFunc(t.Keys, func(k schema.Key) bool {
		return k.Unique && slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool { return strings.Contains(p.Column, "`") })
	})
}

// hinderTriggers is what prevents capture by triggers.
func (c *checker) hinderTriggers() (faults []Risk) {
	f, name := c.facts, c.table.Name
	add := func(what, why, fix string) {
		faults = append(faults, Risk{Code: CodeCaptureTrigger, What: what, Why: why, Fix: fix, Blocking: true})
	}
	if f.IsReplica {
		add(
			"this server is a replica of another one", "rows that replication changes fire no triggers",
			"Leave --capture out, or connect to the primary",
		)
	}
	if f.Capture != nil {
		add("both a replica and triggers are to capture changes", "a run uses one or the other", "Leave --capture-from or --capture out")
	}
	for _, fk := range c.table.ForeignKeys {
		if fk.Acts() {
			add(
				fmt.Sprintf(
					"foreign key %s (ON DELETE %s ON UPDATE %s) changes rows of the table when those of %s change",
					fk.Constraint, fk.OnDelete, fk.OnUpdate, fk.Parent,
				),
				"no trigger fires for such changes",
				"Use binlog capture on MySQL 9.6 or later, or run the ALTER natively",
			)
		}
	}
	if !f.mayCreateTriggers() {
		add(
			"account "+f.User+" may not create triggers: it lacks SUPER, and log_bin_trust_function_creators is OFF",
			"the server refuses them if it writes a binlog (error 1419)",
			"SET GLOBAL log_bin_trust_function_creators = ON, or GRANT SUPER ON *.* TO "+account(f.User),
		)
	}
	if f.LogBin && f.BinlogFormat == "STATEMENT" {
		add("binlog_format is STATEMENT", "the run reads rows without locks, and such reads cannot be logged as statements (error 1665)",
			"SET GLOBAL binlog_format = 'MIXED' or 'ROW', then let the applications reconnect")
	}
	if !f.Version.MariaDB && backticked(c.table) {
		add(
			"the name of the database, of the table or of a column of its keys has a backtick",
			"the server does not show such triggers as they were created", "Use binlog capture",
		)
	}
	if _, ok := InnoDBName(name); !ok {
		add(
			"the name of the table has letters beyond ASCII",
			"the run could not detect a TRUNCATE, for which no trigger fires", "Use binlog capture",
		)
	}
	return faults
}

// unseenReplicas is a warning for accounts that have too few privileges to see replicas, if only
// capture by a binlog would need these privileges.
const unseenReplicas = "the run cannot look for replicas"

// checkTriggerCapture checks whether triggers can capture the changes, and warns of what that
// means.
func (c *checker) checkTriggerCapture() {
	c.blocking = append(c.blocking, c.hinderTriggers()...)
	names := []string{}
	for _, event := range schema.TriggerEvents {
		names = append(names, c.names.Log.Table+"_"+strings.ToLower(event))
	}
	c.warn(
		CodeCaptureTrigger,
		fmt.Sprintf("changes are captured by triggers (%s): %s", strings.Join(names, ", "), c.captured.Why),
		fmt.Sprintf(
			"each write to the table writes its key into %s as well. The triggers are %s's: it must keep its INSERT there until the run has ended. "+
				"A TRUNCATE or another change of the table's structure ends the run. A killed run leaves them until you run the same command or midstream cleanup  %s",
			c.names.Log,
			c.facts.User,
			c.table.Name.Argument(),
		),
		"",
	)
	if c.facts.AutoincLockMode == 0 {
		c.warn(
			CodeCaptureTrigger, "innodb_autoinc_lock_mode is 0",
			"while the triggers exist, statements that write several rows of the table wait for each other, and such transactions may get a deadlock (error 1213) that they would not have had",
			"Set innodb_autoinc_lock_mode to 1 or 2 (needs a restart), or use binlog capture",
		)
	}
	if c.facts.LogBin && c.facts.ReplicasUnknown {
		c.warn(CodeCaptureTrigger, unseenReplicas, "the account lacks REPLICATION SLAVE, so the run does not watch their lag",
			"GRANT REPLICATION SLAVE ON *.* TO the account, or name them by --replica")
	}
	if c.facts.LogBin && c.facts.replicas() > 0 {
		c.warn(
			CodeCaptureTrigger, "replicas get the triggers too",
			"rows do not fire them there; a session's statements in STATEMENT format fire them, and leave rows in "+c.names.Log.String()+" there until it is dropped",
			"",
		)
	}
}

// lackedOf returns which of the server-wide privileges the account lacks.
func (c *checker) lackedOf(privileges []string) (missing []string) {
	g := &c.facts.Grants
	for _, p := range privileges {
		if super := p == "REPLICATION CLIENT" && g.Global("SUPER"); !g.Global(p) && !super {
			missing = append(missing, p)
		}
	}
	return missing
}

// onServer are the server-wide privileges that a run needs.
func onServer(by Capture) []string {
	if by == CaptureTrigger {
		return forLooking
	}
	return slices.Concat(forBinlog, forLooking)
}
