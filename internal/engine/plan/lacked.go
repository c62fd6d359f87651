package plan

import "midstream/internal/mysql/schema"

// accesses is the table of performance_schema that counts reads and writes of each table.
const accesses = "table_io_waits_summary_by_table"

// LackedByCleanup returns the privileges, each with its GRANT, that the account lacks to drop the
// tables. If old is set, it also checks the privileges to find sessions that use an old table.
func LackedByCleanup(f *Facts, drop []schema.Name, old bool) []Risk {
	c := checker{facts: f}
	if old {
		c.checkReadable(append([]string{accesses}, watched...), "a run finds there the sessions that use the old table")
	}
	for _, name := range drop {
		if !f.Grants.On("DROP", name.Schema, name.Table) {
			c.missing([]string{"DROP"}, name.Quoted(), "the table is to be dropped")
		}
	}
	return c.blocking
}

// LackedByUndo refuses to do something about the undo of a table if the account lacks one of the privileges for it; nil if it has them.
func LackedByUndo(f *Facts, table schema.Name, privileges ...string) *Refused {
	c := checker{facts: f}
	c.missing(f.lacks(UndoOf(table), privileges...), grantSchema(table.Schema, f.Grants.LiteralNames)+".*", "an undo has tables next to "+table.String())
	if len(c.blocking) == 0 {
		return nil
	}
	return &Refused{Table: table.String(), Blocking: c.blocking}
}

// LackedBySources is the privilege that lets the account see which servers this server replicates
// from, with its GRANT. It uses only the version and the account of the facts.
func LackedBySources(f *Facts) Risk {
	privilege := "REPLICATION CLIENT"
	if f.Version.MariaDB {
		privilege = "REPLICA MONITOR"
	}
	c := checker{facts: f}
	what, fix := c.lack([]string{privilege}, "*.*")
	return Risk{Code: CodeGrants, What: what, Why: "it shows which server a server replicates from", Fix: fix, Blocking: true}
}
