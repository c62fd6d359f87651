package plan

import (
	"fmt"
	"strings"

	"midstream/internal/engine/carry"
	"midstream/internal/mysql/schema"
)

// The codes of what operators must know of triggers that move in the swap, and of triggers whose
// columns the ALTER drops or renames, by any method.
const (
	CodeTriggers      Code = "triggers"
	CodeTriggerColumn Code = "trigger-column"
)

// checkTriggers checks what the table's triggers require of a shadow.
func (c *checker) checkTriggers() {
	t := c.table
	if len(t.Triggers) == 0 {
		return
	}
	set := carry.Set{Source: t.Name, Shadow: c.names.Shadow}
	for _, trigger := range t.Triggers {
		what := fmt.Sprintf("trigger %s (%s %s)", trigger.Name, trigger.Timing, trigger.Event)
		if why := set.CanCarry(trigger); why != "" {
			c.block(CodeTrigger, what+" can't be carried over to the new table", why, "Drop it first, and create it again after the run")
			continue
		}
		if carry.IsStandIn(trigger.Name) {
			c.block(
				CodeTrigger, what+" has a name of Midstream's",
				"an earlier run, whose state table is gone, left it next to the trigger that it stands in for",
				"Check that the original trigger exists, then: DROP TRIGGER "+t.Name.Sibling(trigger.Name).Quoted(),
			)
		}
		if trigger.Database != c.facts.Collation && c.facts.Collation != "" {
			c.block(
				CodeTrigger,
				fmt.Sprintf(
					"%s was created while the database's collation was %s, which is %s now", what, trigger.Database,
					c.facts.Collation,
				),
				"if a run creates it again, its variables and parameters without a charset get another one",
				"Create it again yourself before the run, and check that it still works",
			)
		}
		c.checkTriggerColumns(trigger, what)
	}
	c.checkTriggerGrants()
	c.tellTriggers()
}

// checkTriggerColumns finds columns that a trigger names and that the altered table no longer has.
func (c *checker) checkTriggerColumns(trigger schema.Trigger, what string) {
	uses := carry.Uses(trigger)
	recreate := fmt.Sprintf(
		"Drop it first, and create it again after the run: SHOW CREATE TRIGGER %s shows its statement",
		c.table.Name.Sibling(trigger.Name).Quoted(),
	)
	for _, gone := range taken(c.alter) {
		switch {
		case !contains(uses, gone.Old):
		case gone.New == "":
			c.block(
				CodeTriggerColumn, fmt.Sprintf("%s uses column %s, which the ALTER drops", what, gone.Old),
				"it would fail for every row that is written (error 1054)", recreate,
			)
		default:
			c.block(
				CodeTriggerColumn, fmt.Sprintf("%s uses column %s, which will be %s", what, gone.Old, gone.New),
				"it uses the old name, and would fail for every row that is written (error 1054)",
				recreate+", with the new name",
			)
		}
	}
}

// checkTriggerGrants finds the privileges that the account lacks to create the triggers.
func (c *checker) checkTriggerGrants() {
	f := c.facts
	super := f.Grants.Global("SUPER")
	if !f.mayCreateTriggers() {
		what, fix := c.lack([]string{"SUPER"}, "*.*")
		c.block(
			CodeGrants, what,
			"the server lets this account create and drop triggers only if log_bin_trust_function_creators is ON (error 1419)",
			"SET GLOBAL log_bin_trust_function_creators = ON, or "+fix,
		)
	}
	var others []string
	for _, t := range c.table.Triggers {
		if t.Definer != f.User {
			others = append(others, fmt.Sprintf("%s by %s", t.Name, t.Definer))
		}
	}
	if len(others) == 0 || super {
		return
	}
	wanted := "SUPER" // up to MySQL 5.7
	switch v := f.Version; {
	case v.MariaDB && v.AtLeast(10, 5, 2):
		wanted = "SET USER"
	case v.MariaDB:
	case v.AtLeast(8, 2, 0):
		wanted = "SET_ANY_DEFINER"
	case v.AtLeast(8, 0, 0):
		wanted = "SET_USER_ID"
	}
	if !f.Grants.Global(wanted) {
		c.missing([]string{wanted}, "*.*", "triggers keep their DEFINER ("+strings.Join(others, ", ")+")")
	}
}

// mayCreateTriggers reports whether the account may create triggers. A server that writes a binlog
// may refuse that (error 1419).
func (f *Facts) mayCreateTriggers() bool {
	return !f.LogBin || f.TrustCreators || f.Grants.Global("SUPER") || f.Version.MariaDB && f.Grants.Global("BINLOG ADMIN")
}

// tellTriggers describes what the swap does to the triggers.
func (c *checker) tellTriggers() {
	t := c.table
	why := fmt.Sprintf(
		"each takes four statements that change the dictionary, of about 10 ms each on an idle server; %s keeps none",
		c.names.Former().Table,
	)
	if len(c.facts.TriggerTables) > 0 {
		why += "; the server also locks the tables that they use (" + schema.List(c.facts.TriggerTables) +
			"): a session that uses one of these blocks the lock"
	}
	c.warn(
		CodeTriggers,
		fmt.Sprintf("the swap carries over %s: %s", count(len(t.Triggers), "trigger"), strings.Join(t.TriggerNames(), ", ")),
		why, "If the attempts take longer than --lock-work, raise it",
	)
}
