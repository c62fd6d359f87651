package rollout

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Begin makes the first state of a set: its members, each in its wave. Waves with a selector choose
// first, then shares, in an order that depends only on the set's id and the server's name.
func Begin(set Set, servers map[string]map[string]string) (State, error) {
	set = set.Defaults()
	s := State{Set: set.ID, Phase: PhaseChecking}
	for server, labels := range servers {
		if set.Selector.Matches(labels) {
			s.Members = append(s.Members, Member{Server: server, Wave: -1, Labels: labels, Step: StepPlanned})
		}
	}
	if len(s.Members) == 0 {
		return State{}, fmt.Errorf("the selector %s matches none of %d servers: compare it with the labels of the inventory", set.Selector, len(servers))
	}
	if err := checkLabels(set, s.Members); err != nil {
		return State{}, err
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return cmp.Compare(mix(set.ID, a.Server), mix(set.ID, b.Server)) })
	if err := assign(set, s.Members); err != nil {
		return State{}, err
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Server, b.Server)) })
	for i, w := range set.Waves {
		s.Waves = append(s.Waves, WaveState{Name: w.Name, Phase: WaveWaiting})
		if n := count(s.Members, i); set.Swap.When == WhenBarrier && n > MostOfBarrier {
			return State{}, fmt.Errorf("wave %s has %d members, but a barrier is for at most %d: use smaller waves, or swap when wave_ready, with an undo",
				w.Name, n, MostOfBarrier)
		}
	}
	return s, nil
}

// mix gives each server a place in an order that has nothing to do with names, hosts or cells.
func mix(id, server string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + server))
	return string(sum[:])
}

func checkLabels(set Set, members []Member) error {
	for label, limit := range map[string]int{LabelHost: set.Limits.PerHost, LabelCell: set.Limits.PerCell} {
		var without []string
		for _, m := range members {
			if limit > 0 && m.Labels[label] == "" {
				without = append(without, m.Server)
			}
		}
		if len(without) > 0 {
			slices.Sort(without)
			return fmt.Errorf("limits.per_%s is %d, but %s no label %s: add it in the inventory, or remove the limit",
				label, limit, list(without, "has", "have"), label)
		}
	}
	return nil
}

// assign gives each member its wave.
func assign(set Set, members []Member) error {
	rest := -1
	for i, w := range set.Waves {
		switch {
		case !w.Selector.IsZero():
			n := 0
			for j := range members {
				if m := &members[j]; m.Wave < 0 && w.Selector.Matches(m.Labels) {
					m.Wave, n = i, n+1
				}
			}
			if n == 0 {
				return fmt.Errorf("wave %s has no member: no server of the set that is not in an earlier wave matches %s", w.Name, w.Selector)
			}
		case w.Share == 0:
			rest = i
		}
	}
	for i, w := range set.Waves {
		most := (len(members)*w.Share + 9999) / 10000
		for j := range members {
			if m := &members[j]; m.Wave < 0 && most > 0 {
				m.Wave, most = i, most-1
			}
		}
	}
	var without []string
	for j := range members {
		if m := &members[j]; m.Wave < 0 && rest >= 0 {
			m.Wave = rest
		} else if m.Wave < 0 {
			without = append(without, m.Server)
		}
	}
	if len(without) > 0 {
		slices.Sort(without)
		return fmt.Errorf("%s in no wave: add a last wave without selector and share, which takes the rest", list(without, "is", "are"))
	}
	return nil
}

func count(members []Member, wave int) (n int) {
	for i := range members {
		if members[i].Wave == wave {
			n++
		}
	}
	return n
}

// list names up to five servers, with the verb for one or several.
func list(names []string, one, several string) string {
	switch n := len(names); {
	case n == 1:
		return names[0] + " " + one
	case n > 5:
		return fmt.Sprintf("%s and %d others %s", strings.Join(names[:4], ", "), n-4, several)
	}
	return strings.Join(names, ", ") + " " + several
}
