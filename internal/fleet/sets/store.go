package sets

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
)

// kept is a set as the store keeps it.
type kept struct {
	ID   string `json:"id"`
	Text string `json:"text"` // the rules, in their normal form
	// Files are those of the set, by their names.
	Files []queue.File `json:"files,omitempty"`
	// Author submitted the set.
	Author      string    `json:"author"`
	SubmittedBy string    `json:"submitted_by"`
	Submitted   time.Time `json:"submitted"`
	// Unanswered means that the store has not answered yet. The next service takes such a set back: its submission was not answered, or
	// with an error. Only a second write takes that away, so a set begins after two answers of the store.
	Unanswered bool `json:"unanswered,omitempty"`
	// Proposed means that the set waits for the approval of a person who is not the author.
	Proposed bool            `json:"proposed"`
	Approval *queue.Approval `json:"approval"`
	// Rejected is why it never begins; "" if it was not rejected.
	Rejected string `json:"rejected"`
	// Revision grows with each write of the state.
	Revision uint64        `json:"revision"`
	State    rollout.State `json:"state"`
	// Asked are the requests that the state does not have yet; Last is the number of the last one.
	Asked []rollout.Request `json:"asked"`
	Last  uint64            `json:"last"`
	// Plans are the outcomes of the fleet plan, by server, and Common is the most common definition.
	Plans  map[string]planned `json:"plans"`
	Common string             `json:"common"`
	// Waits is what the set waits for that a person does, each with the time since when.
	Waits map[string]time.Time `json:"waits,omitempty"`
}

// planned is what the fleet plan says of a member.
type planned struct {
	Outcome rollout.Outcome `json:"outcome"` // empty if no plan could be made
	Why     string          `json:"why"`
	At      time.Time       `json:"at"`
	// Definition is the fingerprint of its table without the change; empty if that is not known.
	Definition string `json:"definition"`
}

// set is a set at work. It is a driver.Store, and the members.World of its fleet. It is safe for concurrent use.
type set struct {
	service *Service
	rules   rollout.Set
	wake    chan struct{} // holds one word that there may be something to do

	mu       sync.Mutex // held across a write, so that the rows follow each other
	kept     kept
	driven   bool
	planning bool
	doubted  bool // the store has failed to answer a write: it may have another row than kept
}

// read makes a set of its row.
func read(s *Service, k kept) (*set, error) {
	rules, err := changeset.Parse("the set "+k.ID, []byte(k.Text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", queue.ErrNotStore, err)
	}
	rules.Author = k.Author
	if k.Plans == nil {
		k.Plans = map[string]planned{}
	}
	return &set{service: s, rules: rules, wake: make(chan struct{}, 1), kept: k}, nil
}

// change replaces the row. REQUIRES: mu is held. to must share nothing that changes with the present one.
func (t *set) change(ctx context.Context, to kept, told audit.Entry) error {
	to.Waits = to.waiting(t.rules, time.Now().UTC())
	text, err := json.Marshal(to)
	if err == nil {
		if told.Action != "" || told.State != "" {
			told.Set = to.ID
		}
		err = t.service.cfg.Queue.Keep(ctx, told, queue.Row{ID: queue.SetKey(to.ID), Text: text})
	}
	if t.doubted = err != nil; t.doubted {
		return fmt.Errorf("keep the set %s: %w", to.ID, err)
	}
	t.kept = to
	return nil
}

// Load returns the state and its revision.
func (t *set) Load(context.Context) (rollout.State, uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.State, t.kept.Revision, nil
}

// Save replaces the state of a revision.
func (t *set) Save(ctx context.Context, state rollout.State, revision uint64) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Revision != revision {
		return 0, driver.ErrStale
	}
	to, told := t.kept, audit.Entry{}
	to.State, to.Revision = state, revision+1
	to.Asked = slices.DeleteFunc(slices.Clone(to.Asked), func(r rollout.Request) bool { return r.Number <= state.Handled })
	if before := t.kept.State.Phase; before != state.Phase {
		told.State, told.Why = string(state.Phase), state.Why
		t.service.cfg.Note(fmt.Sprintf("set %s is %s", to.ID, state.Phase))
	}
	err := t.change(ctx, to, told)
	return t.kept.Revision, err
}

// now is the row.
func (t *set) now() kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// hurry has the driver look at once.
func (t *set) hurry() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Servers returns the labels of the servers.
func (t *set) Servers(context.Context) (map[string]map[string]string, error) {
	return labelsOf(t.service.cfg.Queue.Current()), nil
}

// Requests returns what persons have asked for, after a number.
func (t *set) Requests(_ context.Context, after uint64) (all []rollout.Request, err error) {
	for _, r := range t.now().Asked {
		if r.Number > after {
			all = append(all, r)
		}
	}
	return all, nil
}

// Finish has nothing to do: the state says that the set has ended.
func (t *set) Finish(context.Context) error { return nil }
