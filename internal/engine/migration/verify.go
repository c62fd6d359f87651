package migration

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/key"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/dbconn"
)

// mostShown is the number of differing rows for which the values are shown.
const mostShown = 10

// comparison is what the comparison of the tables has found. It is for the story's goroutine.
type comparison struct {
	verifier *verify.Verifier
	ended    time.Time // when the tables were last compared
	took     time.Duration
	// repaired counts rows that differed and were synced again.
	repaired int
	// unproven are rows that could not be compared while they changed.
	unproven []key.Key
}

// verify proves that the shadow is what the ALTER makes of the source, while changes go on
// and are applied (law L6). Rows that change too often to be judged are left for the lock of
// the cut-over.
func (w *work) verify(ctx context.Context) error {
	if !w.verifies {
		return nil
	}
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	w.enter(event.PhaseVerify)
	if err := w.brakes.Gates.Copy(ctx); err != nil { // its first ranges have no gate
		return err
	}
	started := time.Now()
	verifier := verify.New(w.cfg.Verify, verify.Deps{
		Pool: w.pool, Spec: w.specs.Compare, Backlog: w.backlog, Unfit: w.unfit, Fence: w.intake.Fence, RowBytes: plan.RowBytes(w.plan),
		Gate: w.brakes.GiveRoom, Chunk: w.brakes.Chunk,
	})
	w.comparison.verifier = verifier
	w.account.update(func() { w.account.verified = verifier })
	w.account.flies(verifier)
	verdict, err := w.compareRows(ctx, verifier)
	if err != nil {
		return err
	}
	if w.comparison.unproven, err = w.settle(ctx, verdict); err != nil {
		return err
	}
	if err := w.verifyCount(ctx); err != nil {
		return err
	}
	took := time.Since(started)
	w.comparison.ended, w.comparison.took = time.Now(), took
	w.account.update(func() {
		w.account.times.verify, w.account.repaired, w.account.compared = took, w.comparison.repaired, w.comparison.ended
		w.account.leftOut = verdict.LeftOut
	})
	w.emit(event.Verified{
		Rows: verdict.Rows, LeftOut: verdict.LeftOut, Suspects: verdict.Suspects, Repaired: w.comparison.repaired,
		Unproven: len(w.comparison.unproven), Unfit: w.unfit.Len(), Uncompared: verdict.Uncompared, Elapsed: took, At: w.comparison.ended,
	})
	return nil
}

// verifyCount proves that the shadow has no rows too many, if its keys don't identify the source's
// keys. After an undo or redo that has parked rows, the source lacks them.
func (w *work) verifyCount(ctx context.Context) error {
	if !w.specs.Sync.KeyChanged || w.plan.Back != nil && w.plan.Back.Returns {
		return nil
	}
	if err := w.brakes.Gates.Copy(ctx); err != nil {
		return err
	}
	surplus, err := w.comparison.verifier.Surplus(ctx, w.apply.whileStopped)
	if err == nil && surplus != 0 {
		err = fmt.Errorf("%w: it has %d rows more", failure.ErrMismatch, surplus)
	}
	return err
}

// settle repairs mismatches, if Config allows it, and returns the keys that are left unproven.
// Otherwise a mismatch ends the run.
func (w *work) settle(ctx context.Context, verdict verify.Verdict) (unproven []key.Key, err error) {
	const repairs = 3 // of the same rows
	for try := 0; ; try++ {
		if verdict.Mismatches = w.unfit.Without(verdict.Mismatches); len(verdict.Mismatches) == 0 {
			break
		}
		differing := verdict.Mismatches
		differences, err := w.comparison.verifier.Differences(ctx, differing[:min(mostShown, len(differing))])
		if err != nil {
			return nil, err
		}
		if !w.repairs || try == repairs {
			w.differ(differences)
			return nil, fmt.Errorf("%w in %d rows: %s", failure.ErrMismatch, len(differing), verify.Texts(differences))
		}
		// Apply syncs them as it syncs changed keys.
		for _, k := range differing {
			w.backlog.Add(k)
		}
		left := verdict.Left
		if verdict, err = w.comparison.verifier.Judge(ctx, differing); err != nil {
			return nil, err
		}
		w.differ(w.comparison.verifier.Fit(differences, verdict.Left))
		w.comparison.repaired += w.comparison.verifier.Repaired(differing, verdict.Left)
		verdict.Left = append(verdict.Left, left...)
	}
	return verdict.Left, nil
}

// differ reports rows that differ.
func (w *work) differ(differences []verify.Difference) {
	for _, d := range differences {
		w.emit(event.Mismatch{Key: d.Key, Column: d.Column, Expected: d.Expected, Found: d.Found, At: time.Now()})
	}
}

// prove compares, under the lock, the rows that are left unproven.
func (w *work) prove(ctx context.Context, session *dbconn.Session) error {
	if err := rowsync.CheckNulls(ctx, session, w.specs.Sync); err != nil {
		return err
	}
	if err := w.parents.Prove(ctx, session); err != nil {
		return err
	}
	unproven := w.unfit.Without(w.comparison.unproven) // the server may have an error for the values of an unfit row
	if len(unproven) == 0 {
		return nil
	}
	differing, err := w.comparison.verifier.Keys(ctx, session, unproven)
	if err != nil || len(differing) == 0 {
		return err
	}
	return fmt.Errorf("%w in %d rows; one of them is %s", failure.ErrMismatch, len(differing), w.specs.Sync.Key.Format(differing[0]))
}
