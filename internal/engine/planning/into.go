package planning

import (
	"cmp"
	"context"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
)

// readBehind reads what does not follow tables to other names.
func readBehind(ctx context.Context, server Server, all *plan.StatementFacts) (err error) {
	for _, t := range all.Tables {
		if t.Table == nil {
			continue
		}
		if t.Facts.Into, err = facts.GatherBehind(ctx, server.Pool.DB(), t.Name); err != nil {
			return err
		}
	}
	return nil
}

// readInto reads what is at the place to which the swap takes the new table.
func (m *maker) readInto(ctx context.Context) (err error) {
	o := &m.options.Plan
	if !o.Into.Given() {
		return nil
	}
	if m.facts.LowerCaseTableNames == 1 { // the server spells all names so
		o.Into.Name.Schema, o.Into.Name.Table = strings.ToLower(o.Into.Name.Schema), strings.ToLower(o.Into.Name.Table)
	}
	if m.facts.Into, err = facts.GatherInto(ctx, m.server.Pool.DB(), m.facts, m.table.Name, o.Into); err != nil {
		return failed(ReadFacts, m.table.Name, err)
	}
	if o.Method == "" {
		o.Method, o.Unwanted = plan.MethodShadow, cmp.Or(o.Unwanted, plan.OnlyNewTableMoves)
	}
	return nil
}
