package leftovers

import (
	"context"
	"fmt"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// DropClones drops the empty copies of the source that killed plans have left, by the rule of GoesWithARun. It returns a note
// about what it has done, "" for nothing. It is for a plan, which makes such a copy itself.
func DropClones(ctx context.Context, pool *dbconn.Pool, source schema.Name) (note string) {
	c := New(pool, source, plan.Altering)
	there, err := c.List(ctx)
	var dropped []string
	for _, t := range there {
		if err != nil || !t.Clone {
			continue
		}
		if err = c.spareClone(ctx, &t); err != nil || !c.GoesWithARun(t.Table) {
			continue
		}
		if err = RetryBriefly(ctx, func() error { return c.Drop(ctx, t.Table) }); err == nil {
			dropped = append(dropped, t.Name.String())
		}
	}
	switch {
	case err != nil && ctx.Err() == nil && !dbconn.Denied(err):
		return fmt.Sprintf("what killed plans of %s have left was not removed: %v", source, err)
	case len(dropped) > 0:
		return fmt.Sprintf("removed what a killed plan of %s has left: %s", source, strings.Join(dropped, ", "))
	}
	return ""
}
