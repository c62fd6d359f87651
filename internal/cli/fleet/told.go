package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/face/humanize"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
)

// lineOf is a set on one line.
func lineOf(v sets.View) string {
	text := v.ID + ": " + v.State
	if v.Why != "" {
		text += ", " + v.Why
	}
	return text + "; " + countsOf(v.Counts, v.Size)
}

// countsOf names the states of members, by their number.
func countsOf(counts map[string]int, size int) string {
	var parts []string
	for _, state := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	if len(parts) == 0 {
		return humanize.Plural(size, "member")
	}
	return humanize.Plural(size, "member") + ": " + strings.Join(parts, ", ")
}

// toldSet is a set for people: with its members that are at work, or need a person, if they are known.
func toldSet(v sets.View) string {
	var b strings.Builder
	fmt.Fprintln(&b, lineOf(v))
	if len(v.Members) == 0 {
		return b.String()
	}
	if len(v.Files) > 0 {
		fmt.Fprintf(&b, "  definitions in %s\n", strings.Join(v.Files, ", "))
	} else {
		fmt.Fprintf(&b, "  %s\n", v.Statement)
	}
	width := 0
	for _, w := range v.Waves {
		width = max(width, len(w.Name))
	}
	for _, w := range v.Waves {
		fmt.Fprintf(&b, "  %-*s  %-10s  %s\n", width, w.Name, w.State, countsOf(w.Counts, w.Size))
	}
	for _, m := range v.Members {
		switch rollout.Step(m.State) {
		case rollout.StepDone, rollout.StepApplied, rollout.StepUndone, rollout.StepWithdrawn:
			continue
		case rollout.StepPlanned:
			if m.Plan == "" && m.Why == "" || m.Plan == string(rollout.OutcomeFit) {
				continue
			}
		}
		state := m.State
		if m.Misfit() {
			state = m.Plan // why it cannot start
		}
		fmt.Fprintf(&b, "  %s: %s", m.Server, state)
		if m.Attempt > 1 {
			fmt.Fprintf(&b, ", attempt %d", m.Attempt)
		}
		if m.Why != "" {
			fmt.Fprintf(&b, ": %s", strings.ReplaceAll(m.Why, "\n", " "))
		}
		fmt.Fprintln(&b)
	}
	if v.Ended != nil {
		for _, r := range []struct {
			what  string
			names []string
		}{{"have the change", v.Changed}, {"do not have it", v.Unchanged}, {"were skipped while it was not known", v.Unknown}} {
			if len(r.names) > 0 {
				fmt.Fprintf(&b, "  %s: %s\n", r.what, strings.Join(r.names, ", "))
			}
		}
	}
	if v.Next != "" {
		fmt.Fprintf(&b, "  next: %s\n", v.Next)
	}
	return b.String()
}
