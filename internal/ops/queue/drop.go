package queue

import (
	"context"
	"fmt"
	"os"
	"time"

	"midstream/internal/engine/leftovers"
)

// dropEvery is the longest time between two looks for changes that ended long ago. mostDrops bounds how many are dropped at once.
const (
	dropEvery = time.Minute
	mostDrops = 500
)

// dropEnded drops changes that ended longer ago than Config.KeepEnded, with their histories and folders. A change stays if its undo, or
// its redo, may be possible, or if another change needs it.
func (s *Service) dropEnded(ctx context.Context) error {
	if s.cfg.KeepEnded <= 0 {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	before, needed := time.Now().Add(-s.cfg.KeepEnded), s.needed()
	var ids []string
	gone := map[string]bool{}
	for _, e := range s.all() {
		if e.State.Over() && e.Ended != nil && e.Ended.Before(before) && !needed[e.ID] && !s.mayTakeBack(e) && len(ids) < mostDrops {
			ids, gone[e.ID] = append(ids, e.ID), true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.store.Drop(ctx, ids...); err != nil {
		return fmt.Errorf("drop changes that have ended: %w", err)
	}
	s.mu.Lock()
	kept := newBoard()
	kept.last = s.board.last // numbers are not used again
	for _, e := range s.board.changes {
		if !gone[e.ID] {
			kept.set(e)
		}
	}
	s.board = kept
	for _, id := range ids {
		delete(s.noted, id)
		delete(s.paths, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		if err := os.RemoveAll(s.folder(id)); err != nil {
			s.cfg.Note(fmt.Sprintf("cannot remove the folder of change %s, which was dropped: %v", id, err))
		}
	}
	s.cfg.Note(fmt.Sprintf("dropped %d changes that ended before %s (--keep-ended): %s and so on", len(ids), minute(before), ids[0]))
	return nil
}

// needed are the ids that changes which have not ended come after, or take back.
func (s *Service) needed() map[string]bool {
	ids := map[string]bool{}
	for _, e := range s.all() {
		if e.State.Over() {
			continue
		}
		ids[e.Undoes] = true
		for _, id := range e.After {
			ids[id] = true
		}
	}
	return ids
}

// mayTakeBack reports whether the server may still have something by which a change is taken back, or made again.
func (s *Service) mayTakeBack(e *entry) bool {
	u := s.undoOf(e)
	return u != nil && (u.left || u.State != string(leftovers.UndoEnded) && u.State != undoUndone)
}
