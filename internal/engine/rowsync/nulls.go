package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrNullKey means that a row has NULL in the key that is followed. Such a row is in no range and in no list of keys.
var ErrNullKey = errors.New("a row has NULL in the key that the run follows")

// CheckNulls fails with ErrNullKey if a row of the source has NULL in a column of the key. An index begins with each such column.
func CheckNulls(ctx context.Context, session *dbconn.Session, spec *Spec) error {
	for _, column := range spec.Key.Nullable() {
		var found bool
		if err := session.Rows(ctx, schema.AnyNull(spec.Source, column), func(r *sql.Rows) error { return r.Scan(&found) }); err != nil {
			return fmt.Errorf("look for NULL in the key: %w", err)
		}
		if found {
			return fmt.Errorf("%w: column %s of %s; give such rows a value, or delete them", ErrNullKey, column, spec.Source)
		}
	}
	return nil
}

// CheckNullsNow is CheckNulls in a session of its own.
func CheckNullsNow(ctx context.Context, pool *dbconn.Pool, spec *Spec) error {
	if len(spec.Key.Nullable()) == 0 {
		return nil
	}
	session, err := pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return CheckNulls(ctx, session, spec)
}
