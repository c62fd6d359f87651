package sets

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// Config is what the sets of a service work with.
type Config struct {
	Queue *queue.Service
	// Plan plans the change of a set for one server.
	Plan func(context.Context, rollout.Set, queue.Server) fleetplan.Answer
	// Every is the time between two steps of a driver. Defaults to 1 s.
	Every time.Duration
	// Renew is the age at which the plan of a member that waits for its turn is made again. Defaults to 1 h.
	Renew time.Duration
	// Note tells what somebody should know who looks after the service.
	Note func(text string)
}

// Service has the sets of a service. It is safe for concurrent use.
type Service struct {
	cfg     Config
	working sync.WaitGroup
	begun   context.Context // of Run
	mu      sync.Mutex
	sets    map[string]*set
	doubted map[string]bool // ids whose submission the store has failed to answer. Guarded by mu
}

// Open reads the sets of the store.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	s := &Service{cfg: cfg, sets: map[string]*set{}, doubted: map[string]bool{}}
	all, err := stored(ctx, cfg.Queue)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.Unanswered {
			s.doubted[k.ID] = true
			k.Proposed, k.Rejected = false, unanswered
		}
		if s.sets[k.ID], err = read(s, k); err != nil {
			return nil, fmt.Errorf("read the change sets: %w", err)
		}
		cfg.Queue.DriveOn(k.ID)
	}
	return s, nil
}

// Run drives all sets that have not ended, until ctx ends, and takes back what was answered with an error.
func (s *Service) Run(ctx context.Context) {
	s.mu.Lock()
	s.begun = ctx
	all := s.all()
	s.mu.Unlock()
	for _, t := range all {
		s.drive(t)
	}
	defer s.working.Wait()
	ticker := time.NewTicker(cmp.Or(s.cfg.Every, time.Second))
	defer ticker.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			trouble = s.complain("change sets", trouble, s.settleDoubts(ctx))
		}
	}
}

// complain notes an error that is not the one before, and returns its text; "" for none.
func (s *Service) complain(of, before string, err error) string {
	if err == nil {
		return ""
	}
	if err.Error() != before {
		s.cfg.Note(fmt.Sprintf("%s: %v", of, err))
	}
	return err.Error()
}

// all are the sets, the newest first. REQUIRES: mu is held.
func (s *Service) all() (all []*set) {
	for _, t := range s.sets {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *set) int {
		x, y := a.now(), b.now()
		return cmp.Or(y.Submitted.Compare(x.Submitted), strings.Compare(x.ID, y.ID))
	})
	return all
}

// drive begins to drive a set, unless that is done, or there is nothing to do.
func (s *Service) drive(t *set) {
	s.mu.Lock()
	ctx := s.begun
	s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept
	if ctx == nil || ctx.Err() != nil || t.driven || k.Proposed || k.Rejected != "" || k.State.Phase.Ended() && len(k.Asked) == 0 {
		return
	}
	t.driven = true
	s.working.Go(func() { t.drive(ctx) })
}

// drive drives the set until it has ended, or ctx ends.
func (t *set) drive(ctx context.Context) {
	d := &driver.Driver{Set: t.rules, Store: t, Fleet: &members.Fleet{
		Set: t.rules, Queue: t.service.cfg.Queue, World: t, Files: t.now().Files, Approval: t.now().Approval,
	}}
	ctx = queue.WithPerson(ctx, "set "+t.rules.ID)
	ticker := time.NewTicker(cmp.Or(t.service.cfg.Every, time.Second))
	defer ticker.Stop()
	trouble := ""
	for {
		ended, err := d.Step(ctx)
		if ctx.Err() != nil {
			return
		}
		trouble = t.service.complain("set "+t.rules.ID, trouble, err)
		if ended && err == nil && t.rests() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-d.Soon():
		case <-t.wake:
		}
	}
}

// rests ends the driving, unless a person has asked for something.
func (t *set) rests() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept.Asked) > 0 || !t.kept.State.Phase.Ended() {
		return false
	}
	t.driven = false
	return true
}

// find is the set of an id.
func (s *Service) find(id string) (*set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.sets[id]; t != nil {
		return t, nil
	}
	return nil, &socket.Problem{Status: http.StatusNotFound, Title: "no such change set: " + id, Next: "midstream fleet status  lists all sets"}
}

const notTaken = "the change set was not taken"

func bad(why, next string) *socket.Problem {
	return &socket.Problem{Status: http.StatusUnprocessableEntity, Title: notTaken, Detail: why, Next: next}
}

// SetFile is a set that somebody submits.
type SetFile struct {
	Text  string       `json:"text" maxLength:"1048576" doc:"the set: the text of its file (docs/change-sets.md)"`
	Files []queue.File `json:"files,omitempty" doc:"of a set with files: their texts, at most 256 KiB in all"`
	By    string       `json:"by,omitempty" maxLength:"200" doc:"who submits the set, in free text"`
}

// Submit takes a set, and reports whether it is a new one. It fails with a *socket.Problem, or with what the store says.
func (s *Service) Submit(ctx context.Context, asked SetFile, who queue.Asker) (View, bool, error) {
	rules, err := changeset.Parse("the set", []byte(asked.Text))
	if err != nil {
		return View{}, false, bad(err.Error(), "correct the file; docs/change-sets.md has an example")
	}
	rules.Author = who.Author(asked.By)
	if problem := mayTake(rules); problem != nil {
		return View{}, false, problem
	}
	if err := checkFiles(rules, asked.Files); err != nil {
		return View{}, false, err
	}
	text, files := changeset.Format(rules), sorted(asked.Files)
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.sets[rules.ID]; there != nil && there.now().Text == text && slices.Equal(there.now().Files, files) {
		if there.now().Rejected != unanswered {
			return s.view(there, true), false, nil
		}
	} else if there != nil {
		return View{}, false, &socket.Problem{Status: http.StatusConflict, Title: notTaken, Detail: "another set has the id " + rules.ID, Next: "use another id"}
	}
	state, err := rollout.Begin(rules, labelsOf(s.cfg.Queue.Current()))
	if err == nil {
		err = members.Check(rules, state)
	}
	if err != nil {
		return View{}, false, bad(err.Error(), "correct the set, or the labels of the servers")
	}
	k := kept{
		ID: rules.ID, Text: text, Author: rules.Author, SubmittedBy: who.Words(asked.By), Submitted: time.Now().UTC(),
		State: state, Revision: 1, Plans: map[string]planned{}, Files: files, Unanswered: true,
	}
	for _, m := range state.Members {
		k.Proposed = k.Proposed || s.cfg.Queue.NeedsApproval(m.Server)
	}
	if k.Proposed && k.Author == "" {
		return View{}, false, bad("changes of its servers need the approval of a person who is not the author, and this set has no author", "log in with a name, or set by")
	}
	if other := s.cfg.Queue.Drive(k.ID); other != "" {
		return View{}, false, &socket.Problem{Status: http.StatusConflict, Title: notTaken,
			Detail: "the queue has the change " + other + ", by a set with this id that another service drives", Next: "use another id"}
	}
	t := &set{service: s, rules: rules, wake: make(chan struct{}, 1)}
	told := who.Act("submit", asked.By, "")
	told.State = string(state.Phase)
	t.mu.Lock()
	err = t.change(ctx, k, told)
	if k.Unanswered = false; err == nil {
		err = t.change(ctx, k, audit.Entry{})
	}
	t.mu.Unlock()
	if err != nil {
		s.doubted[k.ID] = true
		return View{}, false, err
	}
	delete(s.doubted, k.ID)
	s.sets[k.ID] = t
	s.cfg.Note(fmt.Sprintf("set %s has %d members", k.ID, len(state.Members)))
	go s.drive(t) // it takes mu
	return s.view(t, true), true, nil
}

// mayTake returns what the service does not take.
func mayTake(rules rollout.Set) *socket.Problem {
	switch {
	case rules.Author == "" && slices.ContainsFunc(rules.Waves, func(w rollout.Wave) bool { return w.Approve }):
		return bad("a wave waits for the approval of a person who is not the author, and this set has no author", "log in with a name, or set by")
	}
	return nil
}

// labelsOf are the labels of servers, with their names.
func labelsOf(servers []queue.Server) map[string]map[string]string {
	labels := map[string]map[string]string{}
	for _, s := range servers {
		labels[s.Name] = inventory.Server{Name: s.Name, Labels: s.Labels}.AllLabels()
	}
	return labels
}
