package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// batch is the number of suspects that are compared at once.
const batch = 500

// Bounds of the time that suspects get before they are left to the lock of the cut-over.
const (
	rounds = 10
	// patience is how long a round waits for changes to be applied.
	patience = time.Second
)

// Verdict is what a verification found.
type Verdict struct {
	Rows       int64 // of the source, compared: without unfit ones
	LeftOut    int64 // rows of the source that do not meet the condition of those that are kept
	Suspects   int   // rows that differed at first
	Mismatches []key.Key
	// Left are suspects that change too often to be judged while they may change.
	Left []key.Key
	// Uncompared are columns and rows that were not compared, each with its reason.
	Uncompared []string
}

// unchanged is what Changed does not compare.
const unchanged = "the rows that have not changed since the swap (a write that the binlog does not have is lost; --cold compares all rows)"

// Run compares the tables once while rows change. It may be called once.
func (v *Verifier) Run(ctx context.Context) (Verdict, error) {
	if err := v.compareAll(ctx); err != nil {
		return Verdict{}, fmt.Errorf("verify: %w", err)
	}
	verdict := Verdict{Left: v.suspects}
	if len(v.suspects) > 0 {
		var err error
		if verdict, err = v.Judge(ctx, v.suspects); err != nil {
			return verdict, err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	differed := unique(slices.Clone(v.suspects)) // an unfit row is one of them, or was left out
	v.rows -= int64(len(differed) - len(v.deps.Unfit.Without(differed)))
	verdict.Rows, verdict.LeftOut, verdict.Suspects, verdict.Uncompared = v.rows, v.leftOut, len(v.suspects), v.deps.Spec.Uncompared
	return verdict, nil
}

// changedAtOnce is the number of changed keys that are judged together.
const changedAtOnce = 10 * batch

// Changed compares the rows of a list of keys while rows change. It may be called once, in place of Run.
func (v *Verifier) Changed(ctx context.Context, keys []key.Key) (verdict Verdict, err error) {
	for part := range slices.Chunk(keys, changedAtOnce) {
		judged, err := v.Judge(ctx, part)
		if err != nil {
			return verdict, err
		}
		verdict.Mismatches = append(verdict.Mismatches, judged.Mismatches...)
		verdict.Left = append(verdict.Left, judged.Left...)
		compared, err := v.presentNow(ctx, v.deps.Unfit.Without(part))
		if err != nil {
			return verdict, fmt.Errorf("verify: %w", err)
		}
		v.mu.Lock()
		v.rows += compared
		v.mu.Unlock()
		verdict.Rows += compared
	}
	verdict.Uncompared = append(slices.Clone(v.deps.Spec.Uncompared), unchanged)
	return verdict, nil
}

// presentNow is present in a session of its own. Locks of others are waited out.
func (v *Verifier) presentNow(ctx context.Context, keys []key.Key) (rows int64, err error) {
	session, err := v.deps.Pool.Session(ctx, v.deps.Spec.Setup()...)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	err = session.Patiently(ctx, func() error {
		rows, err = v.present(ctx, session, keys)
		return err
	})
	return rows, err
}

// Judge looks at rows that differ until each is equal or a mismatch, or its patience ends.
func (v *Verifier) Judge(ctx context.Context, suspects []key.Key) (Verdict, error) {
	verdict := Verdict{Left: unique(suspects)}
	session, err := v.deps.Pool.Session(ctx, v.deps.Spec.Setup()...)
	if err != nil {
		return verdict, fmt.Errorf("verify: %w", err)
	}
	defer session.Close()
	for round := 0; round < rounds && len(verdict.Left) > 0; round++ {
		if err := v.deps.Gate(ctx, 0, 0); err != nil {
			return verdict, err
		}
		mismatches, left, err := v.judge(ctx, session, verdict.Left)
		if err != nil {
			return verdict, fmt.Errorf("verify: %w", err)
		}
		verdict.Mismatches, verdict.Left = append(verdict.Mismatches, mismatches...), left
	}
	return verdict, nil
}

// judge reads suspects again. If all changes of a suspect are applied, and it does not change while
// it is read, judge clears it or returns it as a mismatch. It returns the others in left.
func (v *Verifier) judge(ctx context.Context, session *dbconn.Session, suspects []key.Key) (mismatches, left []key.Key, err error) {
	v.deps.Backlog.Watch(suspects)
	defer v.deps.Backlog.Watch(nil)
	if err := v.deps.Fence(ctx); err != nil {
		return nil, nil, err
	}
	pending, err := v.settle(ctx, suspects)
	if err != nil {
		return nil, nil, err
	}
	differing, err := v.Keys(ctx, session, suspects)
	err = v.onceKnown(ctx, err, refusal, func() error {
		differing, err = v.Keys(ctx, session, suspects)
		return err
	})
	if err != nil || len(differing) == 0 {
		return nil, nil, err
	}
	if err := v.deps.Fence(ctx); err != nil {
		return nil, nil, err
	}
	touched := v.deps.Backlog.Touched()
	for _, k := range differing {
		// A key that is not among the suspects is another spelling of one of them.
		_, suspected := slices.BinarySearch(suspects, k)
		if suspected && !pending[k] && !touched[k] {
			mismatches = append(mismatches, k)
		} else {
			left = append(left, k)
		}
	}
	return mismatches, left, nil
}

// settle waits a while for the changes of the keys to be applied. It returns the keys with changes
// that are not applied.
func (v *Verifier) settle(ctx context.Context, keys []key.Key) (map[key.Key]bool, error) {
	for since := time.Now(); ; {
		pending := v.deps.Backlog.Pending(keys)
		if len(pending) == 0 || time.Since(since) > patience {
			return pending, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Keys compares the rows of a list of keys and returns the keys that differ, in order.
func (v *Verifier) Keys(ctx context.Context, session *dbconn.Session, keys []key.Key) ([]key.Key, error) {
	var differing []key.Key
	for part := range slices.Chunk(keys, batch) {
		if part = v.deps.Unfit.Without(part); len(part) == 0 {
			continue
		}
		p, err := v.fitting(ctx, session, part)
		var found []key.Key
		if err == nil {
			_, found, err = v.compare(ctx, session, p)
		}
		if err != nil {
			return nil, fmt.Errorf("compare %d keys: %w", len(part), err)
		}
		differing = append(differing, found...)
	}
	return unique(differing), nil
}

// fitting selects the rows of keys without unfit ones: the collation may hold a key equal to that of an unfit row.
func (v *Verifier) fitting(ctx context.Context, session *dbconn.Session, keys []key.Key) (predicate, error) {
	sync := v.deps.Spec.Sync
	p := keysPredicate(sync, keys)
	if sync.Key.Ordered() || v.deps.Unfit.Len() == 0 {
		return p, nil
	}
	present, err := sync.Present(ctx, session, keys)
	fit := v.deps.Unfit.Without(present)
	unfit := slices.DeleteFunc(slices.Clone(present), func(k key.Key) bool { return slices.Contains(fit, k) })
	if len(unfit) > 0 {
		p.source = fmt.Sprintf("(%s) AND NOT (%s)", p.source, rowsync.InKeys(sync.Key, sync.Key.Names(), unfit))
	}
	return p, err
}

func unique(keys []key.Key) []key.Key {
	slices.Sort(keys)
	return slices.Compact(keys)
}
