package sets

import (
	"net/http"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/metrics"
)

// Metrics shows Prometheus the queue, its runs and the sets.
func (s *Service) Metrics() http.Handler { return s.cfg.Queue.Metrics(s.metrics) }

// metrics are those of the sets.
func (s *Service) metrics() metrics.Sets {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := metrics.Sets{Counts: zeros(append(rollout.Phases(), stateProposed))}
	for _, t := range s.all() {
		k := t.now()
		state := k.phase()
		m.Counts[string(state)]++
		if state.Ended() {
			continue
		}
		one := metrics.Set{
			ID: k.ID, Members: zeros(rollout.Steps()), Waves: zeros(rollout.WavePhases()), Stopped: state == rollout.PhaseStopped,
		}
		for i := range k.State.Members {
			one.Members[string(k.State.Members[i].Step)]++
		}
		for _, w := range k.State.Waves {
			one.Waves[string(w.Phase)]++
		}
		for _, since := range k.Waits {
			if one.Waits.IsZero() || since.Before(one.Waits) {
				one.Waits = since
			}
		}
		m.AtWork = append(m.AtWork, one)
	}
	return m
}

func zeros[W ~string](words []W) map[string]int {
	counts := map[string]int{}
	for _, word := range words {
		counts[string(word)] = 0
	}
	return counts
}

// phase is how far the set is, as it is shown.
func (k *kept) phase() rollout.Phase {
	switch {
	case k.Proposed:
		return stateProposed
	case k.Rejected != "":
		return rollout.PhaseCancelled
	}
	return k.State.Phase
}

// waiting is what the set waits for that a person does, each with the time since when. What it waited for before keeps its time.
func (k *kept) waiting(rules rollout.Set, now time.Time) map[string]time.Time {
	waits := map[string]time.Time{}
	add := func(what string) {
		if waits[what] = now; !k.Waits[what].IsZero() {
			waits[what] = k.Waits[what]
		}
	}
	phase := k.phase()
	switch {
	case phase.Ended():
		return nil
	case phase == stateProposed || phase == rollout.PhaseStopped:
		add(string(phase))
	}
	for _, w := range k.State.Waves {
		if w.Phase == rollout.WaveToApprove && phase == rollout.PhaseRunning {
			add("wave " + w.Name)
		}
	}
	for i := range k.State.Members {
		m := &k.State.Members[i]
		held := rules.Swap.When == rollout.WhenReleased && m.Step == rollout.StepReady && !m.Released
		misfit := phase == rollout.PhaseChecking && m.Step == rollout.StepPlanned && m.Outcome != "" && m.Outcome != rollout.OutcomeFit
		if held || misfit || m.Step == rollout.StepStuck {
			add("member " + m.Server)
		}
	}
	return waits
}
