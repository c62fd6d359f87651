package planning

import (
	"context"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// givenUp warns of former values that do not come back: of columns that the change has converted, and, in some rows, of columns that
// only the old table has.
func (m *undoMaker) givenUp(ctx context.Context, p *plan.Plan) error {
	risks, err := p.GivesUp(m.old)
	if err != nil {
		return err
	}
	p.Risks = append(p.Risks, risks...)
	columns, err := p.Columns(m.old)
	if err != nil || !p.Back.Adopts() || len(columns.Kept) == 0 {
		return err
	}
	warn := func(rows, why, fix string) {
		what := rows + " lose their values of column " + strings.Join(columns.Kept, ", column ")
		p.Risks = append(p.Risks, plan.Risk{Code: plan.CodeGivenUp, What: what, Why: why, Fix: fix})
	}
	const parkedBack = "rows that were parked and have come back"
	const moved, back = "rows whose key has changed since the swap", "Change the keys of such rows back first, if you know them"
	switch {
	case p.Capture.By == plan.CaptureTrigger:
		warn(moved, "the log that triggers write does not show which key such a row had", back)
	case !p.Back.FromSwap():
		warn(moved, "an undo by all rows does not show which key such a row had, and the binlog since the swap cannot be used", back)
	}
	if p.Back.Values == "" {
		return nil
	}
	parked := rowsync.Parked{Table: m.table.Name.Sibling(p.Back.Values), Mark: schema.MarkFor(checkpoint.ParkedKind, m.table.Name)}
	session, err := m.server.Pool.Session(ctx)
	if err != nil {
		return failed(ReadFacts, m.table.Name, err)
	}
	defer session.Close()
	has, fits, err := parked.Has(ctx, session, rowsync.ValueColumns(p.Key.Columns(), columns.Kept))
	switch {
	case err != nil:
		return failed(ReadFacts, m.table.Name, err)
	case !has:
		warn(parkedBack, "the table of these values, "+parked.Table.String()+", is gone, or has lost its mark",
			"Give the table its name and its comment back ("+parked.Mark+"), if you have it")
	case !fits:
		warn(parkedBack, "the table of these values, "+parked.Table.String()+", is of another key, or of other columns",
			"Take them from there after "+p.Back.Verb()+": SELECT * FROM "+parked.Table.Quoted())
	}
	return nil
}
