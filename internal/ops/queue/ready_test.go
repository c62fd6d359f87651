package queue

import (
	"path/filepath"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// at is a run's status in a phase.
func at(phase event.Phase, state, held string, compared time.Time) socket.Status {
	progress := record.Of(event.Progress{Phase: phase, Compared: compared, Slowdown: -1, ReplicaLag: -1})
	return socket.Status{Phase: string(phase), State: state, Held: held, Progress: progress}
}

// TestL4_ReadyIsHeldWithItsProof: a change is ready if each of its runs only waits for the release. The oldest proof counts, and a second
// comparison does not end the state.
func TestL4_ReadyIsHeldWithItsProof(t *testing.T) {
	early, late := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond), time.Now().UTC().Truncate(time.Millisecond)
	alone := func(s socket.Status) groups.ChangeStatus { return groups.Of([]socket.Status{s}) }
	for name, c := range map[string]struct {
		status groups.ChangeStatus
		ready  bool
		proof  time.Time
	}{
		"copying":       {alone(at(event.PhaseCopy, "running", "until midstream cutover", time.Time{})), false, time.Time{}},
		"comparing":     {alone(at(event.PhaseVerify, "running", "until midstream cutover", time.Time{})), false, time.Time{}},
		"held":          {alone(at(event.PhaseHold, "held", "until midstream cutover", early)), true, early},
		"again":         {alone(at(event.PhaseVerify, "running", "until midstream cutover", early)), true, early},
		"paused":        {alone(at(event.PhaseHold, "paused", "until midstream cutover", early)), false, time.Time{}},
		"released":      {alone(at(event.PhaseCutover, "running", "", early)), false, time.Time{}},
		"without proof": {alone(at(event.PhaseHold, "held", "until midstream cutover", time.Time{})), true, time.Time{}},
		"group": {groups.Of([]socket.Status{
			at(event.PhaseHold, "held", "until midstream cutover", late), at(event.PhaseHold, "held", "until midstream cutover", early),
		}), true, early},
		"half of a group": {groups.Of([]socket.Status{
			at(event.PhaseHold, "held", "until midstream cutover", late), at(event.PhaseHold, "held", "until midstream cutover", time.Time{}),
		}), true, time.Time{}},
	} {
		ready := readyOf(c.status)
		if (ready != nil) != c.ready {
			t.Errorf("%s: %+v", name, ready)
			continue
		}
		if ready != nil && (c.proof.IsZero() != (ready.VerifiedAt == nil) || ready.VerifiedAt != nil && !ready.VerifiedAt.Equal(c.proof)) {
			t.Errorf("%s: %+v", name, ready.VerifiedAt)
		}
	}
}

// TestReadyIsKept: the store has the state, so a service that is started again shows since when a change waits; it ends with the run.
func TestReadyIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.db")
	store := file(t, path)
	s := queue(t, store)
	e := running(t, s)
	proof := time.Now().UTC()
	s.becomesReady(t.Context(), e.ID, &Ready{VerifiedAt: &proof})
	first, _ := s.Change(e.ID)
	if first.Ready == nil || first.Ready.AgeMS == nil || first.Ready.Since.IsZero() {
		t.Fatalf("%+v", first)
	}
	later := proof.Add(time.Minute)
	s.becomesReady(t.Context(), e.ID, &Ready{VerifiedAt: &later})
	if now, _ := s.Change(e.ID); !now.Ready.Since.Equal(first.Ready.Since) || !now.Ready.VerifiedAt.Equal(later) {
		t.Errorf("%+v", now.Ready)
	}
	if list := filtered(s.Changes(), FilterReady); len(list) != 1 || len(filtered(s.Changes(), "waiting")) != 0 || len(filtered(s.Changes(), "running")) != 1 {
		t.Errorf("%+v", list)
	}
	kept, err := s.load(t.Context())
	if err != nil || len(kept) != 1 || kept[0].Ready == nil || !kept[0].Ready.VerifiedAt.Equal(later) {
		t.Errorf("%+v, %v", kept, err)
	}
	ended := *s.find(e.ID)
	ended.end(StateFailed, "", "")
	if ended.Ready != nil {
		t.Error("it is over, and ready")
	}
}
