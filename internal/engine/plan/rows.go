package plan

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// CodeRows is the code of what a row change brings, or what prevents it.
const CodeRows Code = "rows"

// RowsKind is the word for the state table of a row change in its mark.
const RowsKind = "rows"

// RowsOf returns the name of the table with the state of a row change.
func RowsOf(table schema.Name) schema.Name { return table.Sibling(ownName(table.Table, rowsSuffix)) }

// RowKey takes the best key by which each row of a table is found, and each once: its columns are never NULL. wish is the name of a key,
// "" for any. If there is none, RowKey returns the reasons.
func RowKey(f *Facts, table *schema.Table, wish string) (k Key, found bool, reasons []string) {
	known := *f
	known.RowImage = "" // nothing is read from the binlog
	c := checker{facts: &known, table: table, alter: &ddl.Alter{Table: table.Name}, options: Options{Key: wish}}
	var usable []candidate
	for _, k := range table.Keys {
		if wish != "" && k.Name != wish {
			continue
		}
		one, why := c.candidate(k)
		switch {
		case why != "":
		case one.nulls:
			why = "a column may be NULL"
		case one.key.ByValue:
			why = "it is not unique"
		case one.key.Whole:
			why = "the server reads it in another order than it compares"
		}
		if why != "" {
			reasons = append(reasons, k.Name+": "+why)
			continue
		}
		usable = append(usable, one)
	}
	if len(usable) == 0 {
		return k, false, reasons
	}
	slices.SortStableFunc(usable, better)
	return usable[0].key, true, nil
}

// ByZone reports whether the value of an expression over a table may depend on the time zone of the session.
func ByZone(expr string, table *schema.Table) bool { return byZone(expr, table) }

// ServerOf is what a run needs to know of the server.
func ServerOf(f *Facts) Server { return serverOf(f, Captured{}) }

// checkRows blocks because of a row change that was stopped: it would resume on another table.
func (c *checker) checkRows() {
	rows := RowsOf(c.table.Name)
	for _, taken := range c.facts.Taken {
		if c.facts.sameTable(taken.Name, rows) && taken.Comment == schema.MarkFor(RowsKind, c.table.Name) {
			c.block(CodeLeftover, fmt.Sprintf("a purge or an update of rows was stopped, and %s has its checkpoint", rows),
				"a changed table would keep it from resuming",
				"Run its command again, which resumes it; or give the checkpoint up: midstream cleanup  "+c.table.Name.Argument())
		}
	}
}
