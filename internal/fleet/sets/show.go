package sets

import (
	"cmp"
	"context"
	"slices"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
)

// List returns all sets, the newest first, without their members.
func (s *Service) List() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []View{}
	for _, t := range s.all() {
		list = append(list, s.view(t, false))
	}
	return list
}

// Get returns a set. It fails with a *socket.Problem.
func (s *Service) Get(id string) (View, error) {
	t, err := s.find(id)
	if err != nil {
		return View{}, err
	}
	return s.view(t, true), nil
}

// stateProposed is of a set that waits for the approval of another person.
const stateProposed = "proposed"

// view is a set as it is shown, whole or without its members.
func (s *Service) view(t *set, whole bool) View {
	k, rules := t.now(), t.rules
	v := View{
		ID: k.ID, State: string(k.State.Phase), Why: k.State.Why, Statement: rules.Statement, Files: k.fileNames(),
		Selector: rules.Selector.String(), Digest: k.digest(), Author: k.Author, SubmittedBy: k.SubmittedBy, Submitted: k.Submitted,
		Limits:    Limits{rules.Limits.All, rules.Limits.PerHost, rules.Limits.PerCell},
		StopAfter: rules.StopAfter, Swap: string(rules.Swap.When),
		StartWindow: rules.Start.String(), SwapWindow: rules.Swap.Window.String(),
		Counts: map[string]int{}, Size: len(k.State.Members), Members: []Member{}, Requests: []Request{},
		Changed: []string{}, Unchanged: []string{}, Unknown: []string{},
	}
	if rules.Undo > 0 {
		v.Undo = rules.Undo.String()
	}
	if k.Approval != nil {
		v.ApprovedBy = k.Approval.By
	}
	for i, w := range k.State.Waves {
		of := rules.Waves[i]
		v.Waves = append(v.Waves, Wave{
			Name: w.Name, State: string(w.Phase), Counts: map[string]int{},
			SoakMS: of.Soak.Milliseconds(), SoakedMS: w.Soaked.Milliseconds(), Approve: of.Approve,
			Approvers: list(of.Approvers), ApprovedBy: w.ApprovedBy, Open: w.Open,
		})
	}
	v.Requests = append(v.Requests, requests(&k, rules, s.undoRole(&k))...)
	s.viewMembers(&v, &k, whole)
	switch {
	case k.Proposed:
		v.State, v.Why = stateProposed, "it waits for the approval of a person who is not "+k.Author
	case k.Rejected != "":
		v.State, v.Why, v.Requests = string(rollout.PhaseCancelled), k.Rejected, []Request{}
	case k.State.Phase.Ended():
		r, ended := k.State.Result(), k.State.Ended
		v.Ended, v.Changed, v.Unchanged, v.Unknown = &ended, list(r.Changed), list(r.Unchanged), list(r.Unknown)
	}
	if v.Why == "" {
		v.Why = waits(&v)
	}
	v.Next = next(&v)
	if whole {
		v.Text = k.Text
	}
	return v
}

// viewMembers adds the members, and counts them.
func (s *Service) viewMembers(v *View, k *kept, whole bool) {
	reports := map[string]queue.MemberReport{}
	if whole {
		all, _ := s.cfg.Queue.Members(context.Background(), k.ID) // of this process: it does not fail
		for _, m := range all {
			reports[m.Server] = m
		}
	}
	for i := range k.State.Members {
		m := &k.State.Members[i]
		state, wave := string(m.Step), &v.Waves[m.Wave]
		v.Counts[state]++
		wave.Counts[state]++
		wave.Size++
		working := m.Step == rollout.StepStarted || m.Step == rollout.StepUndoing
		if working {
			v.Work++
		}
		if !whole {
			continue
		}
		r, plan := reports[m.Server], k.plan(m.Server)
		one := Member{
			Server: m.Server, Wave: wave.Name, State: state, Why: m.Why, Plan: string(m.Outcome),
			Attempt: m.Attempt, Change: r.Change, ExitCode: r.ExitCode, Requests: []string{},
			Host: m.Labels[rollout.LabelHost], Cell: m.Labels[rollout.LabelCell], Labels: m.Labels,
			Gone: m.Gone, Failed: m.Failed, Working: working,
		}
		if m.Step == rollout.StepPlanned || m.Step == rollout.StepFailed && m.Attempt == 0 {
			one.Why = cmp.Or(plan.Why, m.Why)
		} else if one.Why == "" && (working || m.Step == rollout.StepReady || m.Step == rollout.StepReleased) {
			one.Why = r.Why
		}
		if m.Step == rollout.StepRetrying && !m.NotBefore.IsZero() {
			at := m.NotBefore
			one.RetryAt = &at
		}
		if m.Swapped > 0 {
			at := m.SwappedAt
			one.Swapped = &at
		}
		v.Members = append(v.Members, one)
	}
	for _, r := range v.Requests {
		for i := range v.Members {
			if slices.Contains(r.Servers, v.Members[i].Server) {
				v.Members[i].Requests = append(v.Members[i].Requests, r.Ask)
			}
		}
	}
}

// undoRole is the role that the undo of a set needs: if changes of its servers need an approval, no one gives one to the undo.
func (s *Service) undoRole(k *kept) access.Role {
	if slices.ContainsFunc(k.State.Members, func(m rollout.Member) bool { return s.cfg.Queue.NeedsApproval(m.Server) }) {
		return access.Operate
	}
	return access.Submit
}

// requests are what a person may ask for now. undoBy is the role for an undo.
func requests(k *kept, rules rollout.Set, undoBy access.Role) (all []Request) {
	phase := k.State.Phase
	add := func(ask rollout.Ask, wave string, role access.Role, servers ...string) {
		all = append(all, Request{string(ask), wave, list(servers), string(role)})
	}
	if k.Proposed {
		add(rollout.AskApprove, "", access.Approve)
		add("reject", "", access.Approve)
		add(rollout.AskCancel, "", access.Operate)
		return all
	}
	for _, w := range k.State.Waves {
		if w.Phase == rollout.WaveToApprove && !phase.Ended() {
			add(rollout.AskApprove, w.Name, access.Approve)
		}
	}
	var again, skip, held []string
	undo := false
	for _, m := range k.State.Members {
		switch m.Step {
		case rollout.StepFailed, rollout.StepStuck:
			again, skip = append(again, m.Server), append(skip, m.Server)
		case rollout.StepPlanned, rollout.StepRetrying, rollout.StepUnknown:
			skip = append(skip, m.Server)
		case rollout.StepReady:
			if !m.Released {
				held = append(held, m.Server)
			}
		case rollout.StepDone:
			undo = undo || rules.Undo > 0 && time.Since(m.SwappedAt) < rules.Undo
		}
	}
	works := phase == rollout.PhaseRunning || phase == rollout.PhaseStopped
	if rules.Swap.When == rollout.WhenReleased && works && len(held) > 0 {
		add(rollout.AskRelease, "", access.Operate, held...)
	}
	if (works || phase == rollout.PhaseUndoing) && len(again) > 0 {
		add(rollout.AskAgain, "", access.Operate, again...)
	}
	if !phase.Ended() && len(skip) > 0 {
		add(rollout.AskSkip, "", access.Operate, skip...)
	}
	if works || phase == rollout.PhaseChecking {
		add(rollout.AskCancel, "", access.Operate)
	}
	if undo && (works || phase == rollout.PhaseCancelling || phase == rollout.PhaseFinished || phase == rollout.PhaseCancelled) {
		add(rollout.AskUndo, "", undoBy)
	}
	return all
}

// waits is what a set waits for that is at work; "" if it has ended.
func waits(v *View) string {
	if v.State != string(rollout.PhaseRunning) {
		return ""
	}
	for _, w := range v.Waves {
		switch rollout.WavePhase(w.State) {
		case rollout.WaveToApprove:
			return "wave " + w.Name + " waits for an approval"
		case rollout.WaveSoaking:
			return "wave " + w.Name + " soaks for " + (time.Duration(w.SoakMS-w.SoakedMS) * time.Millisecond).Round(time.Second).String()
		case rollout.WaveRunning:
			return "wave " + w.Name + " is at work"
		}
	}
	return ""
}

// next is what to do.
func next(v *View) string {
	verb := "midstream fleet "
	if misfit := slices.IndexFunc(v.Members, Member.Misfit); misfit >= 0 && v.State == string(rollout.PhaseChecking) {
		return "fix the tables of these servers, which are planned again every " + replanEvery.String() + "; to leave one out: " +
			verb + "skip  " + v.ID + " --server=" + v.Members[misfit].Server
	}
	for _, r := range v.Requests {
		switch rollout.Ask(r.Ask) {
		case rollout.AskApprove:
			if r.Wave == "" {
				return verb + "approve  " + v.ID
			}
			return verb + "approve  " + v.ID + " --wave=" + schema.Shell(r.Wave)
		case rollout.AskRelease:
			if i := slices.IndexFunc(v.Waves, Wave.Ready); i >= 0 { // without it, waves would go that have not begun
				return verb + "release  " + v.ID + " --wave=" + schema.Shell(v.Waves[i].Name)
			}
		case rollout.AskAgain:
			return verb + "again  " + v.ID + " --server=" + r.Servers[0] + ", or " + verb + "skip  " + v.ID + " --server=" + r.Servers[0]
		}
	}
	return ""
}

// list is a list that is not null in JSON.
func list(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
