package planning

import (
	"context"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// withSwap makes the plan again with the time of a shadow's swap. It measures that once.
func (m *maker) withSwap(ctx context.Context, p *plan.Plan) (*plan.Plan, error) {
	if m.facts.Swap != nil || !p.Choice.CopiesRows() {
		return p, nil
	}
	files := 1
	if m.table.Partitioned {
		var err error
		if files, err = schema.Files(ctx, m.server.Pool.DB(), m.table.Name); err != nil {
			return nil, failed(MeasureSwap, m.table.Name, err)
		}
	}
	swap, err := renames(ctx, m.server.Pool, m.table.Name, plan.ShapeBefore(m.table, m.alter, files), m.facts)
	if err != nil {
		return nil, failed(MeasureSwap, m.table.Name, err)
	}
	if swap == nil {
		return p, nil
	}
	m.facts.Swap = swap
	return m.decide()
}

// renames returns what a swap of a shape takes at this moment, nil if that is not long.
func renames(ctx context.Context, pool *dbconn.Pool, table schema.Name, shape plan.Shape, facts *plan.Facts) (*plan.Swap, error) {
	if !shape.ManyFiles() && !shape.ManyStatements() {
		return nil, nil
	}
	swap := shape.Assumed()
	if facts.MayMeasure() {
		measured, err := cutover.Measure(ctx, pool, table, shape)
		switch {
		case err == nil:
			swap = measured
		case dbconn.Number(err) == 0 || dbconn.ConnectionLost(err):
			return nil, err
		}
	}
	return &swap, nil
}
