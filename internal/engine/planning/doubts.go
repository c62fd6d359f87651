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

// narrowing are the kinds of rows that a plan has no other warning of.
var narrowing = []prescan.Kind{prescan.KindLong, prescan.KindRange, prescan.KindMember, prescan.KindCharacters, prescan.KindInvalid}

// narrows warns of each kind of rows that the altered table may refuse, as its definition shows.
func (m *maker) narrows(p *plan.Plan) (risks []plan.Risk) {
	trial := m.facts.Trial
	if trial == nil || p.Back != nil || !p.Choice.CopiesRows() && p.Choice.Method != plan.MethodCopy {
		return nil
	}
	before, after, mappings, err := m.mapped(trial)
	if err != nil {
		return nil // the run reports it
	}
	mappings = slices.DeleteFunc(mappings, func(c plan.Mapping) bool { return m.options.Plan.Set.Of(c.Shadow) != "" })
	why, fix := p.Back.Refusing("such a row")
	for _, d := range specs.Doubts(&before, &after, mappings, false) {
		if slices.Contains(narrowing, d.Kind) {
			risks = append(risks, plan.Risk{Code: plan.CodeNarrows, What: "the new definition refuses rows " + d.What, Why: why, Fix: fix})
		}
	}
	return plan.Checking(risks, m.options.Plan.Checks)
}
