package queue

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/engine/event"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Ready is the state of a change that only waits for its release.
type Ready struct {
	Since      time.Time  `json:"since" doc:"since when the run waits for its release"`
	VerifiedAt *time.Time `json:"verified_at" doc:"when the tables were last compared and found equal, of a group the oldest time; null if nothing was compared (no copy, or the option no-verify)"`
	AgeMS      *int64     `json:"age_ms" doc:"time since verified_at, in milliseconds; null without it"`
}

// FilterReady is the word of a list for the changes that are ready. They are running.
const FilterReady = "ready"

// readyOf is the state of a run that only waits for its release; nil if it has something else to do. While a held run compares its tables
// again, the last proof counts. In a round of a barrier it is ready, too.
func readyOf(status groups.ChangeStatus) *Ready {
	all := status.Tables
	if len(all) == 0 {
		all = []socket.Status{status.Status}
	}
	var ready Ready
	for i, one := range all {
		compared := comparedAt(one)
		again := event.Phase(one.Phase) == event.PhaseVerify && compared != nil && (one.State == "running" || one.State == "waiting")
		if one.Held == "" || one.State != "held" && one.Round == nil && !again && status.State != "held" {
			return nil
		}
		if i == 0 || ready.VerifiedAt != nil && (compared == nil || compared.Before(*ready.VerifiedAt)) {
			ready.VerifiedAt = compared
		}
	}
	return &ready
}

// comparedAt is when the tables of a run were last compared; nil if they were not.
func comparedAt(status socket.Status) *time.Time {
	var progress record.Progress
	if text, err := json.Marshal(status.Progress); err != nil || json.Unmarshal(text, &progress) != nil {
		return nil
	}
	at, err := time.Parse(record.RFC3339, progress.ComparedAt)
	if err != nil {
		return nil
	}
	at = at.UTC()
	return &at
}

// same reports whether two states are one: the same proof, or no proof.
func (r *Ready) same(other *Ready) bool {
	if r == nil || other == nil {
		return r == other
	}
	a, b := r.VerifiedAt, other.VerifiedAt
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// released is why a change that is ready does not swap: of people elsewhere, the service releases it, and not a command to its run.
func (e *entry) released(why string) string {
	words := reach.Words(why)
	for i, word := range words {
		if verb, is := strings.CutPrefix(word, "midstream "); is && strings.HasPrefix(verb, "cutover ") {
			words[i] = "midstream release  " + e.ID + word[len(strings.TrimRight(word, ".,;")):]
		}
	}
	return strings.Replace(strings.Join(words, " "), "on hold: ", "ready, and on hold: ", 1)
}

// aged adds the age of the proof.
func (r *Ready) aged() *Ready {
	if r == nil {
		return nil
	}
	aged := *r
	if r.VerifiedAt != nil {
		age := max(0, time.Since(*r.VerifiedAt).Milliseconds())
		aged.AgeMS = &age
	}
	return &aged
}

// becomesReady keeps that a change is ready, or no longer is.
func (s *Service) becomesReady(ctx context.Context, id string, ready *Ready) {
	if e := s.find(id); e == nil || e.State != StateRunning || e.Ready.same(ready) {
		return
	}
	_ = s.stepOf(ctx, id, StateRunning, func(ctx context.Context, e *entry) error {
		if e.Ready.same(ready) {
			return nil
		}
		changed := *e
		if changed.Ready = ready; ready != nil {
			ready.Since = time.Now().UTC()
			if e.Ready != nil {
				ready.Since = e.Ready.Since
			}
		}
		if err := s.replace(ctx, &changed); err != nil {
			return err
		}
		if e.Ready == nil {
			waits := "its release: midstream release  " + e.ID
			if e.Member != nil { // which may wait for others
				waits = "its change set: midstream fleet status  " + e.Member.Set
			}
			s.cfg.Note("change " + e.ID + " (" + e.dotted() + " on " + e.Server + ") is ready, and waits for " + waits)
		}
		return nil
	}) // it is noted, and tried again a second later
}

// ReleaseCommand lets a change that is ready swap.
type ReleaseCommand struct {
	Now bool `json:"now,omitempty" doc:"true: do not wait for the window or the hold file"`
}

// release lets a change that is ready swap.
func (s *Service) release(ctx context.Context, id string, asked ReleaseCommand) (answer socket.Answer, err error) {
	if e := s.find(id); e != nil && e.State.Over() {
		return answer, &socket.Problem{Status: http.StatusConflict, Title: id + " cannot be released", Detail: "its run is over: " + string(e.State), Next: "midstream queue  " + id + " shows how it ended"}
	}
	var status groups.ChangeStatus
	if err := s.pass(ctx, id, http.MethodGet, "status", nil, &status); err != nil {
		return answer, err
	}
	if readyOf(status) == nil {
		return answer, &socket.Problem{
			Status: http.StatusConflict, Title: "the change is not released", Detail: "it is not ready: its run is in the phase " + status.Phase + ", and " + status.State,
			Next: "wait until it is ready: midstream queue  --state ready",
		}
	}
	err = s.audited(ctx, id, "release", asked, func() error {
		return s.pass(ctx, id, http.MethodPost, "cutover", socket.CutOverCommand{Now: asked.Now}, &answer)
	})
	return answer, err
}

// registerRelease registers it.
func (s *Service) registerRelease(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "release", Method: http.MethodPost, Path: "/v1/changes/{id}/release", Summary: "Let a change that is ready swap",
			Description: "409: the change is not ready.", Errors: runErrors},
		func(ctx context.Context, in *commanded[ReleaseCommand]) (*body[socket.Answer], error) {
			answer, err := s.release(ctx, in.ID, in.Body)
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[socket.Answer]{answer}, nil
		},
	)
}

// is reports whether a change has a state of a list.
func (c *Change) is(state string) bool {
	return string(c.State) == state || state == FilterReady && c.Ready != nil
}

// filtered are the changes in a state; "" for all. The word ready is for those that wait for their release.
func filtered(changes []Change, state string) []Change {
	if state == "" {
		return changes
	}
	list := []Change{}
	for _, c := range changes {
		if c.is(state) {
			list = append(list, c)
		}
	}
	return list
}
