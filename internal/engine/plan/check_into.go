package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// CodeInto is the code of what another name for the new table brings, or what prevents it.
const CodeInto Code = "into"

// checkInto checks whether the swap can put the new table under another name, and what does not follow it there.
func (c *checker) checkInto() {
	into, table := c.options.Into, c.table.Name
	if !into.Given() {
		return
	}
	name, f := into.Name, c.facts.Into
	what := "the new table cannot become " + name.String()
	block := func(why, fix string) { c.block(CodeInto, what, why, fix) }
	if c.facts.sameTable(name, table) {
		block("that is the table itself", "Leave out --into")
		return
	}
	if m := c.options.Method; m != "" && m != MethodShadow {
		block(OnlyNewTableMoves+", and not the method "+string(m), "Leave out --method="+string(m))
	}
	if c.options.KeepsUndo {
		block("an undo gives a table its old definition under the name that it has, and the old table is in "+table.Schema,
			"Leave out --undo. To go back, copy the definition of the old table by a second run with --into="+table.Dotted())
	}
	if len(c.options.Together) > 0 {
		block("it is one of several tables that are swapped in one step", "Give it a run of its own")
	}
	if len(c.table.Triggers) > 0 {
		c.block(CodeTrigger, fmt.Sprintf("the table has %s: %s", count(len(c.table.Triggers), "trigger"), strings.Join(c.table.TriggerNames(), ", ")),
			"no table takes its triggers to another database (error 1435)", "Drop them first, and create them again there")
	}
	if c.alter.AddsForeignKey || related(c.facts, c.table) {
		c.block(CodeForeignKey, "the table has or gets foreign keys, or others refer to it", "a run does not move them to another name",
			"Drop them first, or run the ALTER without --into, and then RENAME TABLE "+table.Quoted()+" TO "+name.Quoted()+", which they follow")
	}
	if len(c.followed.Dropped) > 0 {
		block("the ALTER drops columns of the followed key, which takes a second step under the former name", "Choose another key with --key, or make two runs")
	}
	c.checkIntoName(block)
	c.checkIntoOrder(block)
	c.checkIntoGrants()
	if f != nil {
		c.checkIntoPlace(f, block)
		c.warnOfNames(f)
	}
}

// checkIntoName checks the name itself.
func (c *checker) checkIntoName(block func(why, fix string)) {
	name := c.options.Into.Name
	longest := maxServerName
	if len(c.table.Checks) > 0 {
		longest = maxName // the server names CHECK constraints after the table
	}
	switch {
	case SystemSchema(name.Schema):
		c.block(CodeSystemSchema, name.Schema+" is the server's own schema", "", "")
	case utf8.RuneCountInString(name.Table) > longest:
		c.block(CodeNames, fmt.Sprintf("the name %s has more than %d characters", name, longest), "the server accepts no longer name", "Choose a shorter one")
	case slices.ContainsFunc(append(append(c.names.All(), OldNames(c.table.Name)...), ViewOf(c.table.Name)),
		func(n schema.Name) bool { return c.facts.sameTable(n, name) }):
		c.block(CodeNames, fmt.Sprintf("this run uses the name %s for another table", name), "each table needs its own name", "Choose another name")
	}
	if c.facts.LogBin && c.facts.hidesSchema(name.Schema) && !c.facts.hidesSchema(c.table.Name.Schema) {
		block("the binlog leaves out schema "+name.Schema+" (binlog_do_db, binlog_ignore_db), so that replicas would lose the table",
			"Start the server without that filter")
	}
}

// checkIntoOrder refuses names for which a swap by two sessions could lose writes: RENAME takes its locks in the order of names, and a
// schema's name comes first.
func (c *checker) checkIntoOrder(block func(why, fix string)) {
	into, table, f := c.options.Into, c.table.Name, c.facts
	if f.Version.renamesUnderLock() && !into.View {
		return
	}
	if wish := c.options.Names; into.View && (wish.Shadow != "" && wish.Shadow < table.Table || wish.Old != "" && wish.Old < table.Table) {
		c.block(CodeNames, "the names of --shadow-name and --old-name must sort after "+table.Table, inOrder, "Choose other names, or leave out --into-view")
	}
	if FirstInSwap(into.Name, table) && (f.Version.MariaDB || !f.PerformanceSchema || !f.MDLInstrument) {
		fix := "Choose a name that sorts after " + table.String() + ", or make the change first and rename the table afterwards, which needs no order: RENAME TABLE " +
			table.Quoted() + " TO " + into.Name.Quoted()
		if !f.Version.MariaDB {
			fix += ", or let performance_schema record metadata locks: UPDATE performance_schema.setup_instruments SET enabled = 'YES' " +
				"WHERE name = 'wait/lock/metadata/sql/mdl'"
		}
		block("the swap takes two sessions, and "+into.Name.String()+" sorts before "+table.String()+": the RENAME asks for its lock first. "+
			"This server does not show for which lock a session waits, so writes could be lost", fix)
	}
}

// checkIntoGrants finds the privileges that are missing on the other schema.
func (c *checker) checkIntoGrants() {
	into, g := c.options.Into, &c.facts.Grants
	why := "the run reads the new table there, and RENAME TABLE needs them"
	if into.View {
		why = "RENAME TABLE and the view need them: the view works with the rights of this account"
		views := slices.DeleteFunc([]string{"CREATE VIEW", "SHOW VIEW"}, func(p string) bool { return g.On(p, c.table.Name.Schema, "") })
		c.missing(views, grantSchema(c.table.Name.Schema, g.LiteralNames)+".*", "the run makes the view there, and finds it again")
	}
	lacked := slices.DeleteFunc(onInto(into), func(p string) bool { return g.On(p, into.Name.Schema, into.Name.Table) })
	c.missing(lacked, grantSchema(into.Name.Schema, g.LiteralNames)+".*", why)
}

// onInto are the privileges on the schema of the new table.
func onInto(into Into) []string {
	if into.View {
		return []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "CREATE VIEW", "SHOW VIEW"}
	}
	return []string{"SELECT", "CREATE", "INSERT"}
}

// checkIntoPlace checks what is at the new name.
func (c *checker) checkIntoPlace(f *IntoFacts, block func(why, fix string)) {
	into, stopped := c.options.Into, c.stopped()
	switch {
	case f.NoDatabase && !c.facts.Grants.On("CREATE", into.Name.Schema, ""): // the account could not see it
	case f.NoDatabase:
		c.block(CodeNoTable, "no such database: "+into.Name.Schema, "", "Create it first, or check the name and the account's privileges: SHOW GRANTS")
	case f.Kind == "VIEW" && stopped && IsStandBy(f.Definition, c.table.Name): // of the stopped run, which this one resumes
	case f.Kind != "":
		c.block(CodeTableExists, fmt.Sprintf("%s exists (%s)", into.Name, strings.ToLower(f.Kind)), "a table can't take the name of another",
			"Choose another name, or rename that one first")
	}
	if view := ViewOf(c.table.Name); into.View && f.ViewKind != "" && !(stopped && f.ViewKind == "VIEW" && IsViewOver(f.ViewDefinition, into.Name)) {
		c.block(CodeNameTaken, fmt.Sprintf("%s exists and is not Midstream's", view), "the run needs the name for the view until the swap",
			"Rename it, or drop it if it is not needed")
	}
	if f.EncryptionChecked && f.Encrypts != f.Encryption && !c.facts.Grants.Global("TABLE_ENCRYPTION_ADMIN") {
		block(fmt.Sprintf("the default encryption of %s is %s, and of %s it is %s: the server checks that (table_encryption_privilege_check)",
			into.Name.Schema, f.Encrypts, c.table.Name.Schema, f.Encryption),
			"GRANT TABLE_ENCRYPTION_ADMIN ON *.* TO "+account(c.facts.User)+", or change the default: ALTER DATABASE "+schema.Quote(into.Name.Schema)+
				" DEFAULT ENCRYPTION = "+schema.Literal(f.Encryption[:1]))
	}
	if into.View && slices.ContainsFunc(c.table.Columns, func(col schema.Column) bool { return col.Invisible }) {
		block("the table has invisible columns, and a view has each of its columns visible", "Leave out --into-view")
	}
}

// warnOfNames names what goes by the source's name, and so does not follow the table.
func (c *checker) warnOfNames(f *IntoFacts) {
	into, table := c.options.Into, c.table.Name
	if into.View {
		c.warn(CodeInto, fmt.Sprintf("%s is a view over %s after the swap", table, into.Name),
			"reads and writes work, with the rights of "+c.facts.User+"; TRUNCATE, ALTER TABLE, FORCE INDEX, PARTITION (...) and foreign keys need the table's name", "")
	} else {
		c.warn(CodeInto, fmt.Sprintf("%s does not exist after the swap: the table is %s", table, into.Name), "a session that uses the old name gets error 1146",
			"--into-view makes the old name a view over the table")
	}
	c.risks = append(c.risks, staysBehind(f, nil, table, into, "Change it together with the swap: --hold delays the swap until midstream cutover")...)
	if n := c.facts.replicas(); n > 0 && into.Name.Schema != table.Schema {
		c.warn(CodeInto, fmt.Sprintf("%s: with a filter by database (replicate-do-db, replicate-wild-do-table and so on), a replica may lose the table", count(n, "replica")),
			"the table changes its database, and this server does not show the filters of its replicas", "Check Replicate_* in SHOW REPLICA STATUS there")
	}
}

// staysBehind are the objects that name the table, but the views that are named already, and the grants on it. fix is what to do about such
// an object.
func staysBehind(f *IntoFacts, named []schema.Name, table schema.Name, into Into, fix string) (risks []Risk) {
	warn := func(what, why, fix string) {
		risks = append(risks, Risk{Code: CodeInto, What: what, Why: why, Fix: fix})
	}
	uses, stay := "once the table has another name, every use of it fails (error 1146)", "they do not follow the table"
	if into.View {
		uses, fix, stay = "after the swap it uses the view", "", "they hold for the view, and not for "+into.Name.String()
	}
	if f.Dependents != nil {
		for _, one := range f.Dependents.All {
			if ddl.NamesTable(one.Text, one.Name.Schema, table) && !(one.Kind == "view" && slices.Contains(named, one.Name)) {
				warn(one.String()+" names "+table.String(), uses, fix)
			}
		}
		if hidden := f.Dependents.Hidden; len(hidden) > 0 {
			warn(fmt.Sprintf("the account cannot read the definitions of %s: %s", count(len(hidden), "object"), strings.Join(hidden, ", ")),
				"they may name the table", "Check them with an account that may (SHOW VIEW; SHOW_ROUTINE, or the definer's)")
		}
	}
	for _, g := range f.Grants {
		warn(fmt.Sprintf("%s has %s on %s by a grant on that table", g.Grantee, g.Privileges, table), "the server stores privileges by name: "+stay,
			fmt.Sprintf("GRANT %s ON %s TO %s", g.Privileges, into.Name.Quoted(), g.Grantee))
	}
	return risks
}
