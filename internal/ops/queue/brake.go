package queue

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// brake has the runs at work obey the freezes of their servers: it sets the flag --cutover-when-gone once more, which ends the permission
// to swap of an earlier release, and which the run of an earlier midstream lacks. A run that does not answer is asked again by askStates.
func (s *Service) brake(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statesTime)
	defer cancel()
	var asking sync.WaitGroup
	for _, e := range s.atWork() {
		asking.Go(func() { s.brakeOne(ctx, e) })
	}
	asking.Wait()
}

// brakeOne does so for one run, once for each freeze.
func (s *Service) brakeOne(ctx context.Context, e *entry) {
	f := s.freezes.of(e.Server)
	s.mu.RLock()
	done := f == nil || s.braked[e.ID].Equal(f.Since)
	s.mu.RUnlock()
	if done {
		return
	}
	run, err := s.runOf(ctx, e)
	if err == nil {
		set := socket.SetCommand{Settings: map[string]string{"cutover-when-gone": s.freezes.file(e.Server)}}
		err = run.Call(access.WithBy(ctx, f.By), http.MethodPost, "set", set, &socket.Answer{})
	}
	if refused := (*socket.Problem)(nil); err != nil && (run == nil || !errors.As(err, &refused)) {
		return
	}
	if err != nil { // it is too late, such as when it swaps now
		s.cfg.Note("the run of change " + e.ID + " is not held by the freeze: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.braked[e.ID] = f.Since
}
