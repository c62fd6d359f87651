package differ

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// copyForServer makes the twin a copy of the table.
func (u *undoCase) copyForServer(ctx context.Context, s *scene) error {
	lax, err := u.emptyTwin(ctx)
	if err != nil {
		return err
	}
	defer lax.close()
	var names []string
	for _, c := range s.columns {
		names = append(names, c.Name)
	}
	definition, err := schema.Load(ctx, u.pool.DB(), u.tables[0])
	if err != nil {
		return err
	}
	if err := lax.exec(ctx, definition.Create); err != nil { // LIKE gives CHECKs other names
		return fmt.Errorf("%s: %w", definition.Create, err)
	}
	return lax.fill(ctx, "t", names, u.tables[0])
}

// judgeNative compares the table after the undo of a change that the server has made itself with what the ALTER that leads
// back makes of a copy.
func (u *undoCase) judgeNative(ctx context.Context, s *scene, undone []string) (Verdict, error) {
	left, err := u.left(ctx)
	noRedo := errors.Is(err, leftovers.ErrNoUndo) // no ALTER leads back to the changed table
	if left != "" || err != nil && !noRedo {
		return Verdict{Wrong, "left", left}, err
	}
	lax, err := u.laxSession(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer lax.close()
	if err := lax.exec(ctx, "ALTER TABLE t "+s.back); err != nil {
		return Verdict{Wrong, "the twin takes no " + fmt.Sprint(dbconn.Number(err)), s.back + ": " + err.Error()}, nil
	}
	twin, err := u.read(ctx, u.tables[1])
	if err != nil {
		return Verdict{}, err
	}
	if !slices.Equal(undone, twin.rows) {
		return Verdict{Wrong, "rows", fmt.Sprintf("%q, and by %s\n%q", undone, s.back, twin.rows)}, nil
	}
	if noRedo {
		return Verdict{Outcome: Equal}, nil
	}
	return Verdict{}, nil
}
