package verify

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Surplus returns how many rows more than the source the shadow has, apart from rows with changes
// that are yet to be applied, and from unfit rows. If the ALTER changes the key's type, the shadow's rows can't be
// looked up in the source. Once the rows are compared, every row of the source has its own row in
// the shadow. So a row too many shows in the number alone.
//
// REQUIRES: Sync.KeyChanged, and nothing is applied during the call.
func (v *Verifier) Surplus(ctx context.Context) (int64, error) {
	defer v.busy()()
	surplus, err := v.surplus(ctx)
	if err != nil {
		return 0, fmt.Errorf("verify: count rows: %w", err)
	}
	return surplus, nil
}

func (v *Verifier) surplus(ctx context.Context) (int64, error) {
	spec := v.deps.Spec.Sync
	session, err := v.deps.Pool.Session(ctx, append([]string{repeatableRead}, spec.Setup()...)...)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if _, err := session.Exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return 0, err
	}
	// The keys include everything that was committed before the snapshot, and more.
	if err := v.deps.Fence(ctx); err != nil {
		return 0, err
	}
	surplus, err := difference(
		ctx, session,
		"SELECT (SELECT COUNT(*) FROM "+spec.Shadow.Quoted()+"), (SELECT COUNT(*) FROM "+spec.Source.Quoted()+" WHERE "+spec.Of("TRUE")+")",
	)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(v.deps.Unfit.Without(unique(v.deps.Backlog.Again())), batch) {
		inShadow, err := spec.CountConverted(ctx, session, part)
		if err != nil {
			return 0, err
		}
		changing, err := v.beyond(ctx, session, inShadow, part)
		if err != nil {
			return 0, err
		}
		surplus -= changing
	}
	for part := range slices.Chunk(v.deps.Unfit.Keys(), batch) { // the shadow may have another row with such a key
		unfit, err := v.beyond(ctx, session, 0, part)
		if err != nil {
			return 0, err
		}
		surplus -= unfit
	}
	return surplus, nil
}

// beyond returns how many rows more than the source the shadow has, if it has that many rows with the keys.
func (v *Verifier) beyond(ctx context.Context, session *dbconn.Session, inShadow int64, keys []key.Key) (int64, error) {
	spec := v.deps.Spec.Sync
	return difference(ctx, session, fmt.Sprintf("SELECT %d, COUNT(*) FROM %s FORCE INDEX (%s) WHERE %s", inShadow,
		spec.Source.Quoted(), schema.Quote(spec.SourceIndex), spec.Of(rowsync.InKeys(spec.Key, spec.Key.Names(), keys))))
}

// countLeftOut returns how many of the source's rows in a range do not meet the condition of those that are kept.
func (v *Verifier) countLeftOut(ctx context.Context, session *dbconn.Session, r key.Range) (n int64, err error) {
	spec := v.deps.Spec.Sync
	if spec.Keep == "" {
		return 0, nil
	}
	query := fmt.Sprintf("SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE (%s) AND (%s) IS NOT TRUE", spec.Source.Quoted(),
		schema.Quote(spec.SourceIndex), rowsync.InRange(spec.Key, spec.Key.Names(), r), spec.Keep)
	err = session.Rows(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// difference runs a query for two numbers.
func difference(ctx context.Context, session *dbconn.Session, query string) (int64, error) {
	var a, b int64
	err := session.Rows(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&a, &b) })
	return a - b, err
}
