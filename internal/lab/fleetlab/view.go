package fleetlab

import (
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
)

// View is the set as the API of midstream serve shows it, without what only the queue knows.
func (f *Fleet) View() sets.View {
	s := f.State()
	rules := f.rules
	v := sets.View{
		ID: s.Set, State: string(s.Phase), Why: s.Why, Statement: rules.Statement, Selector: rules.Selector.String(), Author: rules.Author,
		SubmittedBy: rules.Author + " from 10.0.0.7", Submitted: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC),
		Limits:    sets.Limits{All: rules.Limits.All, PerHost: rules.Limits.PerHost, PerCell: rules.Limits.PerCell},
		StopAfter: rules.StopAfter, Swap: string(rules.Swap.When), Counts: map[string]int{}, Size: len(s.Members),
	}
	if rules.Undo > 0 {
		v.Undo = rules.Undo.String()
	}
	for i, w := range s.Waves {
		of := rules.Waves[i]
		v.Waves = append(v.Waves, sets.Wave{
			Name: w.Name, State: string(w.Phase), Counts: map[string]int{},
			SoakMS: of.Soak.Milliseconds(), SoakedMS: w.Soaked.Milliseconds(),
			Approve: of.Approve, Approvers: of.Approvers, ApprovedBy: w.ApprovedBy, Open: w.Open,
		})
		if w.Phase == rollout.WaveToApprove {
			v.Requests = append(v.Requests, sets.Request{Ask: "approve", Wave: w.Name, Role: "approve"})
		}
	}
	swapped := false
	for i := range s.Members {
		m := &s.Members[i]
		one := sets.Member{
			Server: m.Server, State: string(m.Step), Why: m.Why, Plan: string(m.Outcome), Attempt: m.Attempt, Host: m.Labels["host"],
			Cell: m.Labels["cell"], Labels: m.Labels, Gone: m.Gone, Failed: m.Failed,
			Working: m.Step == rollout.StepStarted || m.Step == rollout.StepUndoing,
		}
		wave := &v.Waves[m.Wave]
		one.Wave = wave.Name
		v.Counts[one.State]++
		wave.Counts[one.State]++
		wave.Size++
		if one.Working {
			v.Work++
		}
		if m.Attempt > 0 {
			one.Change = s.Set + "/" + m.Server
		}
		if m.Step == rollout.StepFailed {
			one.Requests = []string{"again", "skip"}
		} else if m.Step == rollout.StepPlanned {
			one.Requests = []string{"skip"}
		}
		swapped = swapped || m.Swapped > 0
		v.Members = append(v.Members, one)
	}
	if !s.Phase.Ended() {
		v.Requests = append(v.Requests, sets.Request{Ask: "cancel", Role: "operate"})
	}
	if swapped && rules.Undo > 0 {
		v.Requests = append(v.Requests, sets.Request{Ask: "undo", Role: "submit"})
	}
	if s.Phase.Ended() {
		r, ended := s.Result(), s.Ended
		v.Ended, v.Changed, v.Unchanged, v.Unknown = &ended, r.Changed, r.Unchanged, r.Unknown
	}
	return v
}
