package planning

import (
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// givenUp warns of values of columns that only the old table has: the undo brings them back, but not those of all rows.
func givenUp(p *plan.Plan, old *schema.Table) {
	why := ""
	switch {
	case !p.Back.Adopts() || !p.KeepsValues(old):
		return
	case p.Capture.By == plan.CaptureTrigger:
		why = "the log that triggers write does not show which key such a row had"
	case !p.Back.FromSwap():
		why = "an undo by all rows does not show which key such a row had, and the binlog since the swap cannot be used"
	default:
		return
	}
	columns, _ := p.Columns(old)
	p.Risks = append(p.Risks, plan.Risk{
		Code: plan.CodeGivenUp, Why: why, Fix: "Change the keys of such rows back first, if you know them",
		What: "rows whose key has changed since the swap lose their values of column " + strings.Join(columns.Kept, ", column "),
	})
}
