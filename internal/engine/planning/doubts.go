package planning

import (
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/schema"
)

// warnOfRows warns, in an undo, of each kind of rows that the old definition may refuse, with the SELECT that counts them. The
// plan has warned of NULLs and of numbers already.
func warnOfRows(p *plan.Plan, old *schema.Table, mappings []plan.Mapping) {
	why, fix := p.Back.Refusing("such a row")
	for _, d := range specs.Doubts(p.Source, old, mappings, p.Back.Adopts()) {
		risk := plan.Risk{Code: plan.CodeUndo, What: p.Back.Definition() + " refuses rows " + d.What, Why: why, Fix: fix}
		switch {
		case (d.Kind == prescan.KindNull || d.Kind == prescan.KindZero) && !d.Set:
			continue
		case d.Kind == prescan.KindDuplicate: // it names the key
			risk.Code = plan.CodeUnique
			unknown := p.Back.HasUnique()
			p.Risks = slices.DeleteFunc(p.Risks, func(r plan.Risk) bool { return r.Code == plan.CodeUnique && r.What == unknown })
		}
		if d.Count != "" {
			risk.Fix = strings.TrimPrefix(fix+". "+d.Count+" counts them", ". ")
		}
		p.Risks = append(p.Risks, risk)
	}
}
