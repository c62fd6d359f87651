package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/dbconn"
)

// ErrMismatch says that the shadow is not what the ALTER makes of the source. The source is
// untouched.
var ErrMismatch = errors.New("the shadow differs from the table")

// mostShown is the number of rows that differ of which the values are told.
const mostShown = 10

// comparison is what the comparison of the tables has found. It is for the story's goroutine.
type comparison struct {
	verifier *verify.Verifier
	ended    time.Time // when the tables were last compared
	took     time.Duration
	repaired int       // rows that differed and were synced again
	unproven []key.Key // rows that could not be compared while they changed
}

// verify proves that the shadow is what the ALTER makes of the source, while changes go on
// and are applied (law L6). Rows that change too often to be judged are left for the lock of
// the cut-over.
func (r *work) verify(ctx context.Context) error {
	if !r.verifies {
		return nil
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.enter(event.PhaseVerify)
	if err := r.brakes.gates.Copy(ctx); err != nil { // its first ranges have no gate
		return err
	}
	started := time.Now()
	verifier := verify.New(r.cfg.Verify, verify.Deps{
		Pool: r.pool, Spec: r.specs.Compare, Backlog: r.backlog, Fence: r.capture.Fence, RowBytes: rowBytes(r.plan),
		Gate: r.brakes.giveRoom,
	})
	r.comparison.verifier = verifier
	r.account.update(func() { r.account.verified = verifier })
	r.account.flies(verifier)
	verdict, err := verifier.Run(ctx)
	if err != nil {
		return err
	}
	if r.comparison.unproven, err = r.settle(ctx, verdict); err != nil {
		return err
	}
	if err := r.verifyCount(ctx); err != nil {
		return err
	}
	took := time.Since(started)
	r.comparison.ended, r.comparison.took = time.Now(), took
	r.account.update(func() { r.account.times.verify, r.account.repaired = took, r.comparison.repaired })
	r.emit(
		event.Verified{
			Rows:       verdict.Rows,
			Suspects:   verdict.Suspects,
			Repaired:   r.comparison.repaired,
			Unproven:   len(r.comparison.unproven),
			Uncompared: r.specs.Compare.Uncompared,
			Elapsed:    took,
			At:         time.Now(),
		},
	)
	return nil
}

// verifyCount proves that the shadow has no rows too many, where its keys don't tell of the
// source's.
func (r *work) verifyCount(ctx context.Context) error {
	if !r.specs.Sync.KeyChanged {
		return nil
	}
	if err := r.brakes.gates.Copy(ctx); err != nil {
		return err
	}
	var surplus int64
	err := r.apply.without(ctx, func() (err error) {
		surplus, err = r.comparison.verifier.Surplus(ctx)
		return err
	})
	if err == nil && surplus != 0 {
		err = fmt.Errorf("%w: it has %d rows more", ErrMismatch, surplus)
	}
	return err
}

// settle repairs mismatches, if told so, and returns the keys that are left unproven; else a
// mismatch ends the run.
func (r *work) settle(ctx context.Context, verdict verify.Verdict) (unproven []key.Key, err error) {
	const repairs = 3 // of the same rows
	for try := 0; len(verdict.Mismatches) > 0; try++ {
		differences, err := r.comparison.verifier.Differences(ctx, verdict.Mismatches[:min(mostShown, len(verdict.Mismatches))])
		if err != nil {
			return nil, err
		}
		for _, d := range differences {
			r.emit(event.Mismatch{Key: d.Key, Column: d.Column, Expected: d.Expected, Found: d.Found, At: time.Now()})
		}
		if !r.repairs || try == repairs {
			return nil, mismatch(len(verdict.Mismatches), differences)
		}
		// Apply syncs them as if they had been changed.
		for _, k := range verdict.Mismatches {
			r.backlog.Add(k)
		}
		r.comparison.repaired += len(verdict.Mismatches)
		left := verdict.Left
		if verdict, err = r.comparison.verifier.Judge(ctx, verdict.Mismatches); err != nil {
			return nil, err
		}
		verdict.Left = append(verdict.Left, left...)
	}
	return verdict.Left, nil
}

func mismatch(rows int, differences []verify.Difference) error {
	var lines []string
	for _, d := range differences {
		lines = append(lines, d.String())
	}
	return fmt.Errorf("%w in %d rows: %s", ErrMismatch, rows, strings.Join(lines, "; "))
}

// prove compares, under the lock, the rows that are left unproven.
func (r *work) prove(ctx context.Context, session *dbconn.Session) error {
	if len(r.comparison.unproven) == 0 {
		return nil
	}
	differing, err := r.comparison.verifier.Keys(ctx, session, r.comparison.unproven)
	if err != nil || len(differing) == 0 {
		return err
	}
	return fmt.Errorf("%w in %d rows, of which one is %s", ErrMismatch, len(differing), r.specs.Sync.Key.Format(differing[0]))
}
