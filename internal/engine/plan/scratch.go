package plan

import "slices"

// CodeScratch is the code of what a scratch server can't answer, and of the answers that come from one.
const CodeScratch Code = "scratch"

// scratched is the risk that the answers of the scratch server come with.
func (c *checker) scratched() []Risk {
	if c.facts.Scratch == "" {
		return nil
	}
	risks := []Risk{{
		Code: CodeScratch, What: "the questions that need a table were asked on " + c.facts.Scratch,
		Why: "it has the same version and the same settings, but not the rows: nothing was written to the server of the table",
	}}
	if c.facts.ScratchBuild != "" {
		risks = append(risks, Risk{
			Code: CodeScratch, What: c.facts.ScratchBuild, Why: "another build of a version may take another method, and a run asks its own server again",
			Fix: "Name a scratch server of the same build, if the plan must be exact",
		})
	}
	return risks
}

// checkSight finds what an account that only reads cannot see of a table. MySQL before 8.0 and MariaDB show foreign keys only
// with a privilege other than SELECT, and each server shows triggers only with TRIGGER.
func (c *checker) checkSight() {
	f := c.facts
	if f.Scratch == "" {
		return
	}
	schema, everywhere := c.table.Name.Schema, grantSchema(c.table.Name.Schema, f.Grants.LiteralNames)+".*"
	keys := []string{"REFERENCES", "INSERT", "UPDATE", "ALTER", "TRIGGER"}
	shown := func(p string) bool { return f.Grants.On(p, schema, "") }
	if (f.Version.MariaDB || !f.Version.AtLeast(8, 0, 0)) && !slices.ContainsFunc(keys, shown) {
		what, fix := c.lack(keys[:1], everywhere)
		c.block(CodeScratch, what, "without it the server shows no foreign keys to the account, and the plan would be that of a table without them", fix)
	}
	if !f.Grants.On("TRIGGER", schema, c.table.Name.Table) {
		what, fix := c.lack([]string{"TRIGGER"}, everywhere)
		c.warn(CodeScratch, what, "the server does not show the table's triggers to the account: if it has some, a run may refuse because of them", fix)
	}
}

// warnOfOwnGrants reports the privileges that the account lacks for a change that the server makes itself.
func (c *checker) warnOfOwnGrants() {
	if c.facts.Scratch != "" {
		c.missing(c.facts.lacks(c.table.Name, onClone...), grantSchema(c.table.Name.Schema, c.facts.Grants.LiteralNames)+".*", "a run needs them")
	}
}

// RefusesScratch is the refusal of a plan with a scratch server; nil if nothing speaks against it.
func RefusesScratch(table string, risks []Risk) error {
	if len(risks) == 0 {
		return nil
	}
	for i := range risks {
		risks[i].Code, risks[i].Blocking = CodeScratch, true
	}
	return &Refused{Table: table, Blocking: risks}
}

// OutsideScratch are the wishes that need the server of the table itself.
func OutsideScratch(o Options, calibrates bool) (risks []Risk) {
	add := func(is bool, flag, why string) {
		if is {
			risks = append(risks, Risk{What: flag + " excludes --scratch-defaults-file", Why: why, Fix: "Leave one of them out"})
		}
	}
	const judges = "the server of the table judges the expression in a temporary table"
	add(calibrates, "--calibrate", "it measures the server of the table, with a table there")
	add(o.Filter != "", "--keep", judges)
	add(len(o.Set) > 0, "--set", judges)
	add(o.Into.Given(), "--into", "it moves the table to another schema, which the scratch server does not have")
	add(o.Purpose != Altering, "--rehearse", "a rehearsal writes to the server of the table")
	return risks
}
