package queue

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/ops/groups"
	"midstream/internal/ops/socket"
)

const (
	// statesEvery is the time between two requests for the states of all runs.
	statesEvery = time.Second
	// statesTime bounds each of them.
	statesTime = 2 * time.Second
)

// followStates keeps what runs wait for until ctx ends.
func (s *Service) followStates(ctx context.Context) {
	ticker := time.NewTicker(statesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.askStates(ctx)
	}
}

// askStates asks the runs at work for their states. A run that does not answer keeps its last one.
func (s *Service) askStates(ctx context.Context) {
	running := s.atWork()
	ctx, cancel := context.WithTimeout(ctx, statesTime)
	defer cancel()
	var asking sync.WaitGroup
	var freed atomic.Bool
	for _, e := range running {
		asking.Go(func() {
			var status groups.ChangeStatus
			run, err := s.runOf(ctx, e)
			if err == nil {
				err = run.Call(ctx, http.MethodGet, "status", nil, &status)
			}
			if err != nil {
				return
			}
			if s.stand(e.ID, status) {
				freed.Store(true)
			}
			s.brakeOne(ctx, e)
			s.becomesReady(ctx, e.ID, readyOf(status))
			if now := s.find(e.ID); now != nil && now.Member != nil {
				s.instruct(ctx, now, &status.Status)
			}
		})
	}
	asking.Wait()
	if freed.Load() { // changes may have waited for its place
		s.writing.Lock()
		s.pending.all = true
		s.writing.Unlock()
		s.hurry()
	}
}

// stand keeps how a run stands. It reports whether the run has begun to soak, so that its place is free.
func (s *Service) stand(id string, status groups.ChangeStatus) (freed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.board.find(id); now.State != StateRunning {
		return false
	}
	freed = status.Soaks && !s.soaks[id]
	s.awaits[id], s.stands[id], s.soaks[id] = awaits(status.Status), status.Status, status.Soaks
	return freed
}

// awaits is why a run waits for a person, or for a session that a person may kill; "" if it works.
func awaits(status socket.Status) string {
	switch status.State {
	case "held", "prepared":
		return "on hold: " + status.Why
	case "stopped":
		return "stopped " + status.Why
	case "paused", "blocked":
		return status.Why
	}
	return ""
}

// awaitsOf is what a run awaited when it answered last.
func (s *Service) awaitsOf(id string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.awaits[id]
}
