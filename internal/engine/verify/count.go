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
// A row that changes with a key that only the collation holds equal may be counted by one of the two keys. So a number that
// is not 0 is counted again. stopped works while nothing is applied.
//
// REQUIRES: Sync.KeyChanged.
func (v *Verifier) Surplus(ctx context.Context, stopped func(work func() error) error) (surplus int64, err error) {
	defer v.busy()()
	for try := 1; ; try++ {
		err = stopped(func() (err error) {
			surplus, err = v.surplus(ctx)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("verify: count rows: %w", err)
		}
		if surplus == 0 || try == counts {
			return surplus, nil
		}
		if _, err := v.settle(ctx, v.deps.Backlog.Again()); err != nil {
			return 0, err
		}
	}
}

// counts is how often rows are counted whose numbers differ.
const counts = 4

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
	changing := unique(v.deps.Backlog.Again())
	for part := range slices.Chunk(v.deps.Unfit.Without(changing), batch) { // the shadow may have another row with the key of an unfit one
		inShadow, err := spec.CountConverted(ctx, session, part)
		if err != nil {
			return 0, err
		}
		surplus -= inShadow
	}
	present, err := v.present(ctx, session, unique(slices.Concat(changing, v.deps.Unfit.Keys())))
	return surplus + present, err
}

// present returns how many rows of the source have one of the keys. A row of which the collation holds the key equal to one of
// them has another key.
func (v *Verifier) present(ctx context.Context, session *dbconn.Session, keys []key.Key) (rows int64, err error) {
	for part := range slices.Chunk(keys, batch) {
		present, err := v.deps.Spec.Sync.Present(ctx, session, part)
		if err != nil {
			return rows, err
		}
		rows += int64(len(slices.DeleteFunc(present, func(k key.Key) bool { return !slices.Contains(part, k) })))
	}
	return rows, nil
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
