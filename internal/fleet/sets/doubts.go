package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
)

// unanswered is why a set is cancelled that nobody counts on; the same submission begins it anew.
const unanswered = "the service answered its submission with an error, because the store did not answer. Nothing was begun"

// settleDoubts takes back what was answered with an error: the store may have it all the same, where its answer was lost. Nobody counts
// on it any more, and the next service would begin it. It fails with what the store says; then it is to be called again.
func (s *Service) settleDoubts(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := s.settleSubmitted(ctx)
	for _, t := range s.sets {
		t.mu.Lock()
		if t.doubted {
			failed = errors.Join(failed, t.change(ctx, t.kept, audit.Entry{}))
		}
		t.mu.Unlock()
	}
	return failed
}

// settleSubmitted cancels the sets that the store has although their submission was answered with an error. REQUIRES: mu is held.
func (s *Service) settleSubmitted(ctx context.Context) error {
	if len(s.doubted) == 0 {
		return nil
	}
	there, err := stored(ctx, s.cfg.Queue)
	if err != nil {
		return err
	}
	for _, k := range there {
		if !s.doubted[k.ID] {
			continue
		}
		k.Proposed, k.Rejected, k.Unanswered = false, unanswered, false
		t, err := read(s, k)
		if err == nil {
			t.mu.Lock()
			err = t.change(ctx, k, audit.Entry{State: string(rollout.PhaseCancelled), Why: unanswered})
			t.mu.Unlock()
		}
		if err != nil {
			return err
		}
		s.sets[k.ID] = t
	}
	clear(s.doubted)
	return nil
}

// stored are the rows of all sets. It fails with queue.ErrNotStore, or with what the store says.
func stored(ctx context.Context, q *queue.Service) (all []kept, err error) {
	err = q.Kept(ctx, func(text []byte) error {
		var k kept
		if err := json.Unmarshal(text, &k); err != nil {
			return fmt.Errorf("%w: %w", queue.ErrNotStore, err)
		}
		all = append(all, k)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the change sets: %w", err)
	}
	return all, nil
}
