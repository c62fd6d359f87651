package plan

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// CodeTogether is the code of what keeps the swap of a table from being made together with those of others.
const CodeTogether Code = "together"

// Together returns why the swap of a plan cannot be one with those of other tables.
func Together(p *Plan, others []schema.Name) (risks []Risk) {
	block := func(what, why, fix string) {
		risks = append(risks, Risk{Code: CodeTogether, What: what, Why: why, Fix: fix, Blocking: true})
	}
	const apart = "Change the tables one after the other, without --together"
	if !p.Server.RenameUnderLock {
		block("this server cannot swap several tables in one step",
			"it refuses a RENAME of tables that the session has locked (before MySQL 8.0.13, and MariaDB), so another session could come between two swaps", apart)
	}
	for _, fk := range p.Related() {
		other := fk.Parent
		if other == p.Source.Name {
			other = fk.Child
		}
		if other != p.Source.Name && slices.Contains(others, other) {
			block(fmt.Sprintf("foreign key %s binds %s to %s, which is to be swapped together with it", fk.Constraint, fk.Child, fk.Parent),
				"a foreign key goes over to one new table only", apart)
		}
	}
	return risks
}
