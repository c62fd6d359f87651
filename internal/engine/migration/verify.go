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

// verify proves that the shadow is what the ALTER makes of the source, while changes go on
// and are applied (law L6). Rows that change too often to be judged are left for the lock of
// the cut-over.
func (r *run) verify(ctx context.Context) error {
	if r.cfg.NoVerify {
		return nil
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.enter(event.PhaseVerify)
	if err := r.gates.Copy(ctx); err != nil { // its first ranges have no gate
		return err
	}
	started := time.Now()
	verifier := verify.New(r.cfg.Verify, verify.Deps{
		Pool: r.pool, Spec: r.compare, Backlog: r.backlog, Fence: r.capture.Fence, RowBytes: rowBytes(r.plan),
		Gate: r.giveRoom,
	})
	r.mu.Lock()
	r.verifier = verifier
	r.mu.Unlock()
	verdict, err := verifier.Run(ctx)
	if err != nil {
		return err
	}
	if r.unproven, err = r.settle(ctx, verdict); err != nil {
		return err
	}
	if err := r.verifyCount(ctx); err != nil {
		return err
	}
	r.timing.verify, r.verified = time.Since(started), time.Now()
	r.emit(
		event.Verified{
			Rows:       verdict.Rows,
			Suspects:   verdict.Suspects,
			Repaired:   r.repaired,
			Unproven:   len(r.unproven),
			Uncompared: r.compare.Uncompared,
			Elapsed:    r.timing.verify,
			At:         time.Now(),
		},
	)
	return nil
}

// verifyCount proves that the shadow has no rows too many, where its keys don't tell of the
// source's.
func (r *run) verifyCount(ctx context.Context) error {
	if !r.spec.KeyChanged {
		return nil
	}
	if err := r.gates.Copy(ctx); err != nil {
		return err
	}
	var surplus int64
	err := r.apply.without(ctx, func() (err error) {
		surplus, err = r.verifier.Surplus(ctx)
		return err
	})
	if err == nil && surplus != 0 {
		err = fmt.Errorf("%w: it has %d rows more", ErrMismatch, surplus)
	}
	return err
}

// settle repairs mismatches, if told so, and returns the keys that are left unproven; else a
// mismatch ends the run.
func (r *run) settle(ctx context.Context, verdict verify.Verdict) (unproven []key.Key, err error) {
	const repairs = 3 // of the same rows
	for try := 0; len(verdict.Mismatches) > 0; try++ {
		differences, err := r.verifier.Differences(ctx, verdict.Mismatches[:min(mostShown, len(verdict.Mismatches))])
		if err != nil {
			return nil, err
		}
		for _, d := range differences {
			r.emit(event.Mismatch{Key: d.Key, Column: d.Column, Expected: d.Expected, Found: d.Found, At: time.Now()})
		}
		if !r.cfg.Repair || try == repairs {
			return nil, mismatch(len(verdict.Mismatches), differences)
		}
		// Apply syncs them as if they had been changed.
		for _, k := range verdict.Mismatches {
			r.backlog.Add(k)
		}
		r.repaired += len(verdict.Mismatches)
		left := verdict.Left
		if verdict, err = r.verifier.Judge(ctx, verdict.Mismatches); err != nil {
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
func (r *run) prove(ctx context.Context, session *dbconn.Session) error {
	if len(r.unproven) == 0 {
		return nil
	}
	differing, err := r.verifier.Keys(ctx, session, r.unproven)
	if err != nil || len(differing) == 0 {
		return err
	}
	return fmt.Errorf("%w in %d rows, of which one is %s", ErrMismatch, len(differing), r.spec.Key.Format(differing[0]))
}
