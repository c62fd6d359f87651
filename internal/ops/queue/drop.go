package queue

import (
	"context"
	"fmt"
	"os"
	"slices"
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
	ids := s.droppable(time.Now().Add(-s.cfg.KeepEnded))
	if len(ids) == 0 {
		return nil
	}
	if err := s.store.Drop(ctx, ids...); err != nil {
		return fmt.Errorf("drop changes that have ended: %w", err)
	}
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
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
	s.cfg.Note(fmt.Sprintf("dropped %d changes that ended more than %s ago (--keep-ended): %s and so on", len(ids), s.cfg.KeepEnded, ids[0]))
	return nil
}

// droppable are the changes that ended before a time and may be dropped. A change stays as long as another one stays that takes it back,
// or that comes after it and may still run: their ids name it, and another change could get its id.
func (s *Service) droppable(before time.Time) (ids []string) {
	all, stay := s.all(), map[string]bool{}
	var keep func(e *entry)
	keep = func(e *entry) {
		if e == nil || stay[e.ID] {
			return
		}
		stay[e.ID] = true
		keep(s.find(e.Undoes))
		if e.State != StateDone {
			for _, id := range e.After {
				keep(s.find(id))
			}
		}
	}
	for _, e := range all {
		if !e.State.Over() || e.Ended == nil || !e.Ended.Before(before) || s.mayTakeBack(e) {
			keep(e)
		}
	}
	goes := map[string]bool{}
	for _, e := range all { // what names a change goes with it
		names := goes[e.Undoes] || slices.ContainsFunc(e.After, func(id string) bool { return goes[id] })
		if !stay[e.ID] && (len(ids) < mostDrops || names) {
			ids, goes[e.ID] = append(ids, e.ID), true
		}
	}
	return ids
}

// mayTakeBack reports whether the server may still have something by which a change is taken back, or made again.
func (s *Service) mayTakeBack(e *entry) bool {
	u := s.undoOf(e)
	return u != nil && (u.left || u.State != string(leftovers.UndoEnded) && u.State != undoUndone)
}
