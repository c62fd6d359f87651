package flow

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/rollout"
)

// learn takes over what agents know.
func (c *conductor) learn(r Reported) {
	var w World
	if c.agents[r.Agents] != nil && len(r.World) > 0 && r.World.Unpack(&w) == nil {
		c.Worlds[r.Agents] = w
	}
}

// servers is the inventory for the decisions. A server is not in it before its agents have been there: its freezes are not known.
// A server that a label would give to other agents keeps its labels: its change is where it began.
func (c *conductor) servers() map[string]map[string]string {
	if !c.worlds {
		return nil
	}
	servers := make(map[string]map[string]string, len(c.State.Members))
	for i := range c.State.Members {
		m := &c.State.Members[i]
		a := c.of[m.Server]
		w, known := c.Worlds[a.name]
		labels, is := w.Servers[m.Server]
		switch {
		case !known, w.Servers != nil && !is, w.Servers == nil && m.Gone:
		case is && QueueOf(labels) == a.name:
			servers[m.Server] = labels
		default:
			servers[m.Server] = m.Labels
		}
	}
	return servers
}

// freezes are those of the set, and of the services. An undo waits, too, for agents that have not been there.
func (c *conductor) freezes() (all []rollout.Freeze) {
	for _, f := range c.Freezes {
		if freeze, err := f.Freeze(); err == nil { // it was read before
			all = append(all, freeze)
		}
	}
	if !c.worlds {
		return all
	}
	backwards := c.State.Phase.Ended() || c.State.Phase == rollout.PhaseUndoing || c.State.Phase == rollout.PhaseRecalling
	for _, name := range c.names {
		a := c.agents[name]
		w, known := c.Worlds[name]
		if !known && backwards {
			w.Freezes = []Frozen{{}}
		}
		for _, f := range w.Freezes {
			for _, server := range a.servers {
				if f.Server == "" || f.Server == server {
					all = append(all, rollout.Freeze{Server: server, Until: f.Until})
				}
			}
		}
	}
	return all
}

// joined are servers that fit the selector, and are no members.
func (c *conductor) joined() (names []string) {
	for _, name := range c.names {
		for server, labels := range c.Worlds[name].Servers {
			if c.of[server] == nil && QueueOf(labels) == name && c.set.Selector.Matches(labels) {
				names = append(names, server)
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostNames)]
}

// alarm is the timer of a workflow that waits.
type alarm struct {
	at     time.Time
	rings  workflow.Future
	cancel workflow.CancelFunc
}

// rest waits for news, or until the core may decide something else. It keeps the timer of the rest before, unless that rings too late:
// each timer costs events, and one that is forgotten wakes the workflow for nothing.
func (c *conductor) rest(ctx workflow.Context, now time.Time) error {
	if !c.worlds {
		_, err := workflow.AwaitWithTimeout(ctx, c.wait(now), func() bool { return c.dirty || c.arrived(ctx) })
		c.dirty = false
		return err
	}
	at := now.Add(c.wait(now))
	if c.alarm == nil || at.Before(c.alarm.at) {
		if c.alarm != nil {
			c.alarm.cancel()
		}
		timed, cancel := workflow.WithCancel(ctx)
		c.alarm = &alarm{at, workflow.NewTimer(timed, at.Sub(now)), cancel}
	}
	err := workflow.Await(ctx, func() bool { return c.dirty || c.arrived(ctx) || c.alarm.rings.IsReady() })
	if c.alarm.rings.IsReady() {
		c.alarm = nil
	}
	c.dirty = false
	if err == nil {
		err = ctx.Err() // a timer that was cancelled with the workflow rings, too
	}
	return err
}
