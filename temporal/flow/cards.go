package flow

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/rollout"
)

// cards shows the members whose state has changed. Nothing waits for it.
func (c *conductor) cards(ctx workflow.Context) {
	if c.showing {
		return
	}
	batch, steps := c.changed(false)
	if len(batch) == 0 {
		return
	}
	c.showing = true
	c.inFlight++
	f := c.show(ctx, batch)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if f.Get(ctx, nil) == nil {
			for i, card := range batch {
				c.Shown[card.Server] = steps[i]
			}
		}
		c.inFlight--
		c.showing, c.dirty = false, true
	})
}

// changed are the members whose cards are not up to date; of an ended set, all that have a card. A member that only
// waits has none.
func (c *conductor) changed(last bool) (batch []Card, steps []rollout.Step) {
	for i := range c.State.Members {
		m := &c.State.Members[i]
		shown, is := c.Shown[m.Server]
		if is && shown == m.Step && !last || !is && m.Step == rollout.StepPlanned || len(batch) == MostCards {
			continue
		}
		if last && is && shown == "" {
			continue
		}
		c.Shows++
		batch = append(batch, Card{
			Set: c.set.ID, Wave: c.State.Waves[m.Wave].Name, Server: m.Server, State: m.Step, Attempt: m.Attempt,
			Why: Cut(m.Why), Number: c.Shows, Last: last,
		})
		steps = append(steps, m.Step)
	}
	return batch, steps
}

// lastCards ends the cards of all members.
func (c *conductor) lastCards(ctx workflow.Context) {
	for {
		batch, _ := c.changed(true)
		if len(batch) == 0 {
			return
		}
		_ = c.show(ctx, batch).Get(ctx, nil) // a card that stays open misleads, but holds nothing up
		for _, card := range batch {
			c.Shown[card.Server] = ""
		}
	}
}

func (c *conductor) show(ctx workflow.Context, batch []Card) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, HeartbeatTimeout: lostAfter,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 30 * time.Second, MaximumAttempts: 20},
	}), CardActivity, batch)
}

// Member is the workflow that shows one member, by its search attributes and its memo.
func Member(ctx workflow.Context) (Card, error) {
	signals := workflow.GetSignalChannel(ctx, CardSignal)
	var card Card
	for !card.Last {
		var next Card
		signals.Receive(ctx, &next)
		if next.Number <= card.Number {
			continue
		}
		s := Search()
		err := workflow.UpsertTypedSearchAttributes(ctx,
			s.Set.ValueSet(next.Set), s.Wave.ValueSet(next.Wave), s.Server.ValueSet(next.Server), s.State.ValueSet(string(next.State)))
		if err != nil {
			return card, err
		}
		if err := workflow.UpsertMemo(ctx, map[string]any{"attempt": next.Attempt, "why": next.Why}); err != nil {
			return card, err
		}
		card = next
	}
	return card, nil
}
