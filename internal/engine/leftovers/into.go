package leftovers

import (
	"context"
	"errors"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// dropViews drops the views that a killed run has made for a swap, before its state table is dropped, which shows that it was to make them.
func dropViews(ctx context.Context, c *Cleaner, table schema.Name) error {
	if table != c.Names().State {
		return nil
	}
	saved, err := c.Saved(ctx)
	if errors.Is(err, checkpoint.ErrUnreadable) || dbconn.NoSuchTable(err) {
		return nil
	}
	if err != nil || saved.Start == nil || !saved.Start.View {
		return err
	}
	return cutover.DropViews(ctx, c.pool, c.source, saved.Start.Into)
}
