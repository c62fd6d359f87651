package facts

import (
	"context"
	"fmt"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// NullFree returns Facts.NullFree: keys of which columns may be NULL, and no row has NULL there as far as an index shows that. It
// reads one row of an index for each such column.
func NullFree(ctx context.Context, q schema.Querier, t *schema.Table) (free []string, err error) {
	for _, k := range t.Keys {
		nullable := columnsWithNull(t, k)
		if !k.Unique && t.IdentifiesRows() || k.Type != "BTREE" || !k.Visible || len(nullable) == 0 {
			continue
		}
		without := true
		for _, column := range nullable {
			if !t.Finds(column) {
				continue // the plan refuses it
			}
			var found bool
			err := q.QueryRowContext(ctx, schema.AnyNull(t.Name, column)).Scan(&found)
			if dbconn.Denied(err) { // the plan names the privilege
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("look for NULL in key %s: %w", k.Name, err)
			}
			without = without && !found
		}
		if without {
			free = append(free, k.Name)
		}
	}
	return free, nil
}

// columnsWithNull are the columns of a key that may be NULL.
func columnsWithNull(t *schema.Table, k schema.Key) (names []string) {
	for _, p := range k.Parts {
		if column, ok := t.Column(p.Column); ok && column.Nullable {
			names = append(names, column.Name)
		}
	}
	return names
}
