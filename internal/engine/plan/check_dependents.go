package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/ddl"
)

// CodeDependent is the code of objects that name a column that is renamed or dropped.
const CodeDependent Code = "dependent"

// checkDependents warns of objects that name columns that no longer exist under their names. They
// don't hinder a run: they refer to columns by name, and fail only when they are used.
func (c *checker) checkDependents() {
	d := c.facts.Dependents
	gone := taken(c.alter)
	if d == nil || len(gone) == 0 {
		return
	}
	becomes := func(r ddl.Rename) string {
		if r.New == "" {
			return "which the ALTER drops"
		}
		return "which will be " + r.New
	}
	for _, one := range d.All {
		what := one.String()
		if one.Table != "" {
			what += " of " + one.Table
		}
		for _, r := range gone {
			fix := "Change it together with the swap: --hold delays the swap until midstream cutover"
			if one.Kind == "view" {
				fix = "Create it again right after the swap (CREATE OR REPLACE VIEW): --hold delays the swap until midstream cutover"
			}
			switch ddl.UsesColumn(one.Text, one.Mode, one.Name.Schema, c.table.Name, r.Old) {
			case ddl.Uses:
				c.warn(
					CodeDependent, fmt.Sprintf("%s uses column %s, %s", what, r.Old, becomes(r)),
					"after the swap, every use of it fails", fix,
				)
			case ddl.MayUse:
				c.warn(
					CodeDependent, fmt.Sprintf("%s names the table and a column %s, %s", what, r.Old, becomes(r)),
					"if that is the table's column, every use of it fails after the swap", fix,
				)
			}
		}
	}
	for _, g := range d.Grants {
		for _, r := range gone {
			if strings.EqualFold(g.Column, r.Old) {
				fix := "Revoke it"
				if r.New != "" {
					fix = fmt.Sprintf(
						"GRANT %s (%s) ON %s TO %s, at the time of the swap", g.Privilege, r.New,
						c.table.Name.Quoted(), g.Grantee,
					)
				}
				c.warn(
					CodeDependent,
					fmt.Sprintf("%s has %s on column %s, %s", g.Grantee, g.Privilege, r.Old, becomes(r)),
					"the server stores privileges by column name", fix,
				)
			}
		}
	}
	if len(d.Hidden) > 0 {
		c.warn(
			CodeDependent,
			fmt.Sprintf("the account cannot read the definitions of %s: %s", count(len(d.Hidden), "object"), strings.Join(d.Hidden, ", ")),
			"they may name columns of the table",
			"Check them with an account that may (SHOW VIEW; SHOW_ROUTINE, or the definer's)",
		)
	}
}
