package planning

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// givenUp warns of values of columns that only the old table has: the undo brings them back, but not those of all rows.
func givenUp(p *plan.Plan, columns *plan.Columns) (risks []plan.Risk) {
	kept := columns.Kept
	if len(kept) == 0 || !p.Back.Adopts() {
		return nil
	}
	warn := func(what, why, fix string) {
		risks = append(risks, plan.Risk{Code: plan.CodeGivenUp, What: what, Why: why, Fix: fix})
	}
	names := "column " + strings.Join(kept, ", column ")
	if p.Back.Park {
		read := fmt.Sprintf("SELECT %s FROM %s", schema.QuoteAll(slices.Concat(columns.Key, kept)), p.Back.Old.Name.Quoted())
		warn("rows that are parked lose their values of "+names,
			"the table of parked rows has the columns of the new definition only, and no other table has these values after the undo",
			"Change the rows that do not fit, and leave out --park; or read the values of these rows first: "+read)
	}
	if !p.Back.Lazy {
		warn("rows whose key has changed since the swap lose their values of "+names,
			"an undo by all rows does not read which key such a row had", "An undo of the changes alone keeps them, if one is possible: leave out --cold")
	}
	return risks
}
