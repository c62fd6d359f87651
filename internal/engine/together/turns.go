package together

import (
	"context"
	"errors"
	"time"

	"midstream/internal/engine/lock"
)

// turns are the turns of all members: it is the group's turn when it is the turn of each of them.
type turns []*waiting

// Wait waits until no member is held. While one was waited for, another may have been held, and the comparison of another may have become
// old: it does what is due.
func (t turns) Wait(ctx context.Context) (held time.Duration, err error) {
	for again := true; again; {
		again = false
		for i, m := range t {
			waited, err := m.Turn.Wait(ctx)
			if err != nil {
				return held, &blamed{i, err}
			}
			held, again = held+waited, again || waited > 0 && len(t) > 1
		}
		for i := 0; again && i < len(t); i++ {
			if err := t[i].Meanwhile(ctx); err != nil {
				return held, &blamed{i, err}
			}
		}
	}
	return held, nil
}

// Ready reports whether all members are.
func (t turns) Ready() bool {
	for _, m := range t {
		if !m.Turn.Ready() {
			return false
		}
	}
	return true
}

// Prepare prepares all members.
func (t turns) Prepare(ctx context.Context) (bool, error) {
	for i, m := range t {
		clear, err := m.Turn.Prepare(ctx)
		if err != nil {
			return false, &blamed{i, err}
		}
		if !clear {
			return false, nil
		}
	}
	return true, nil
}

// Begin begins all members' requests, or none.
func (t turns) Begin() bool {
	for i, m := range t {
		if m.Turn.Begin() {
			continue
		}
		for _, begun := range t[:i] {
			_ = begun.Turn.End(context.Background(), lock.Outcome{}, nil) // no request was made: it has nothing to say
		}
		return false
	}
	return true
}

// End gives all members the outcome.
func (t turns) End(ctx context.Context, last lock.Outcome, failed error) error {
	var errs []error
	for _, m := range t {
		errs = append(errs, m.Turn.End(ctx, last, failed))
	}
	return errors.Join(errs...)
}
