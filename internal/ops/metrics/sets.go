package metrics

import (
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Sets are the change sets of a service.
type Sets struct {
	// Counts counts all sets by their state, with zeros.
	Counts map[string]int
	// AtWork are the sets that have not ended.
	AtWork []Set
}

// Set is a change set that has not ended.
type Set struct {
	ID string
	// Members and Waves count its members and waves by their state, with zeros.
	Members, Waves map[string]int
	Stopped        bool
	// Waits is since when it waits for a person: the oldest of its waits. Zero if it waits for none.
	Waits time.Time
}

// The metrics of change sets.
var (
	setsOf       = Description{prefix + "sets", "gauge", "Change sets by their state.", []string{"state"}}
	setMembersOf = Description{
		prefix + "set_members", "gauge", "Members of each change set that has not ended, by their state.", []string{"set", "state"},
	}
	setWavesOf = Description{
		prefix + "set_waves", "gauge", "Waves of each change set that has not ended, by their state.", []string{"set", "state"},
	}
	setStoppedOf = Description{
		prefix + "set_stopped", "gauge", "1 for each change set that the stop rule holds, 0 for the others that have not ended.", []string{"set"},
	}
	setWaitsOf = Description{
		prefix + "set_wait_seconds", "gauge",
		"Age of the oldest wait of a change set for a person: an approval, a release, a member that does not fit, the stop rule; no sample without a wait.",
		[]string{"set"},
	}
)

func ofSets() []Description {
	return []Description{setsOf, setMembersOf, setWavesOf, setStoppedOf, setWaitsOf}
}

// add adds the metrics of change sets.
func (s Sets) add(all map[string]*dto.MetricFamily) {
	counted := func(d Description, counts map[string]int, labels ...*dto.LabelPair) {
		for _, state := range slices.Sorted(maps.Keys(counts)) {
			add(all, gauge(d, float64(counts[state]), append(slices.Clone(labels), label("state", state))...))
		}
	}
	counted(setsOf, s.Counts)
	for _, one := range s.AtWork {
		id := label("set", one.ID)
		counted(setMembersOf, one.Members, id)
		counted(setWavesOf, one.Waves, id)
		add(all, gauge(setStoppedOf, truth(one.Stopped), id))
		if !one.Waits.IsZero() {
			add(all, gauge(setWaitsOf, max(0, time.Since(one.Waits).Seconds()), id))
		}
	}
}
