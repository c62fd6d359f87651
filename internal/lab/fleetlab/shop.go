package fleetlab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// Shop is a set of a canary and two waves over n servers, two of which fail in the second wave, so that it stops. Reasons and one label
// have a text.
func Shop(ctx context.Context, n int, text string) (*Fleet, error) {
	every, err := selector.Parse("*")
	if err != nil {
		return nil, err
	}
	canary, err := selector.Parse("shard=0000")
	if err != nil {
		return nil, err
	}
	servers := Servers(n)
	servers["shard-0001"]["note"] = text
	f, err := New(rollout.Set{
		ID: fmt.Sprintf("orders-note-%d", n), Statement: "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40) COMMENT '" + text + "'", Author: "ann", Selector: every,
		Waves: []rollout.Wave{{Name: "canary", Selector: canary, Soak: 30 * time.Minute, Approve: true}, {Name: "a half " + text, Share: 5000, Soak: 2 * time.Hour},
			{Name: "rest"}},
		Limits: rollout.Limits{All: max(4, n/12), PerHost: 2, PerCell: 10}, StopAfter: 2, Undo: 24 * time.Hour,
		Retry: rollout.Retry{Attempts: 1},
	}, servers)
	if err != nil {
		return nil, err
	}
	var second []string
	for _, m := range f.State().Members {
		if m.Wave == 1 {
			second = append(second, m.Server)
		}
	}
	for _, server := range second[len(second)/2 : len(second)/2+2] {
		f.Fails[server] = "row id=7 of orders does not fit: value too long: " + text
	}
	_, err = f.Until(ctx, func(s rollout.State) bool { return s.Waves[0].Phase == rollout.WaveToApprove })
	return f, err
}

// Until makes steps of a minute until the state is so, or the set has ended; a set that makes no progress fails.
func (f *Fleet) Until(ctx context.Context, is func(rollout.State) bool) (steps int, err error) {
	for ; !is(f.State()); steps++ {
		ended, err := f.Step(ctx, time.Minute)
		if err != nil || ended {
			return steps, err
		}
		if steps > 100_000 {
			return steps, fmt.Errorf("the set is %s without an end: %s", f.State().Phase, f.State().Why)
		}
	}
	return steps, nil
}

// Names are the members of a step.
func (f *Fleet) Names(step rollout.Step) (names []string) {
	all := map[string]bool{}
	for _, m := range f.State().Members {
		if m.Step == step {
			all[m.Server] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
