package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/explain"
	"midstream/internal/engine/operator"
)

// explainQueries asks the server how it would run the application's queries on the new table. It is a hint: an error of it ends no
// run. With explain.Holds, a worse plan holds the swap.
func explainQueries(ctx context.Context, w *work) error {
	if w.cfg.Explain == explain.Off || w.plan.Back.Adopts() {
		return nil
	}
	names := w.plan.Names
	result, err := explain.Run(ctx, w.pool, explain.Tables{
		Source: w.plan.Source.Name, Shadow: w.shadow.Name,
		Ours: []string{names.Shadow.Table, names.State.Table},
		Mode: strings.Join(w.plan.Server.SQLMode, ","),
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		w.note(fmt.Sprintf("the application's queries were not explained on the new table: %v", err))
		return nil
	case !result.Found() && w.cfg.Explain == explain.Warns:
		return nil
	}
	w.emit(result)
	if w.cfg.Explain != explain.Holds || len(result.Worse) == 0 || !w.plan.Purpose.Swaps() {
		return nil
	}
	var held *operator.NotNow
	if err := w.control.Hold(ctx); err != nil && !errors.As(err, &held) { // held already
		return err
	}
	return nil
}
