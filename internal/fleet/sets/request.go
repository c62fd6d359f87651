package sets

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// refusal is the answer to a request that has no effect now.
func refusal(status int, ask, why, next string) *socket.Problem {
	return &socket.Problem{Status: status, Title: "the request " + ask + " has no effect", Detail: why, Next: next}
}

// patience is how long a request waits for its effect. It counts anyway.
const patience = 3 * time.Second

// Ask takes what a person asks for. When it returns, the request is stored, and counts. It fails with a *socket.Problem if it has no
// effect now, or with what the store says.
func (s *Service) Ask(ctx context.Context, id, ask string, asked Ask, who queue.Asker) (View, error) {
	t, err := s.find(id)
	if err != nil {
		return View{}, err
	}
	number, err := t.take(ctx, ask, asked, who)
	if err != nil {
		return View{}, err
	}
	s.drive(t)
	t.hurry()
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil && t.now().State.Handled < number; {
		time.Sleep(20 * time.Millisecond)
	}
	return s.view(t, true), nil
}

// take stores a request, and returns its number; 0 for one that takes effect at once.
func (t *set) take(ctx context.Context, ask string, asked Ask, who queue.Asker) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to, told := t.kept, who.Act(ask, asked.By, asked.Reason)
	told.Server = asked.Server
	if asked.Wave != "" {
		told.Detail = "wave " + asked.Wave
	}
	if to.Proposed {
		err := t.decide(&to, ask, asked, who)
		if err == nil {
			err = t.change(ctx, to, told)
		}
		return 0, err
	}
	r := rollout.Request{Number: to.Last + 1, Ask: rollout.Ask(ask), Wave: asked.Wave, Server: asked.Server, By: who.Author(asked.By)}
	if who.Is(t.rules.Author) {
		r.By = t.rules.Author // letter case does not count
	}
	if role := t.service.undoRole(&to); r.Ask == rollout.AskUndo && !who.May(role) {
		return 0, &access.Lacking{Person: who.Person, Role: role}
	}
	if to.Rejected != "" {
		return 0, refusal(http.StatusConflict, ask, "the set was rejected", "submit another set")
	}
	if why := t.refuses(r); why != "" {
		return 0, refusal(http.StatusConflict, ask, why, "midstream fleet status  "+to.ID+" shows what can be asked for")
	}
	to.Last, to.Asked = r.Number, append(slices.Clone(to.Asked), r)
	if r.Ask == rollout.AskAgain {
		to.forget(r.Server)
	}
	return r.Number, t.change(ctx, to, told)
}

// refuses is why a request would have no effect, after those that are stored; "" if it has one.
func (t *set) refuses(r rollout.Request) string {
	facts := rollout.Facts{Now: t.kept.State.Now, Freezes: []rollout.Freeze{{}}, Requests: append(slices.Clone(t.kept.Asked), r)}
	if now := time.Now().UTC(); now.After(facts.Now) {
		facts.Now = now
	}
	next, _ := rollout.Next(t.rules, t.kept.State, facts)
	for _, a := range next.Answers {
		if a.Number == r.Number {
			return a.Refused
		}
	}
	return ""
}

// decide decides on a set that waits for the approval of another person.
func (t *set) decide(to *kept, ask string, asked Ask, who queue.Asker) error {
	const title = "approve"
	switch {
	case ask == "cancel":
		to.Proposed, to.Rejected = false, "cancelled by "+who.Words(asked.By)
	case ask != "approve" && ask != "reject":
		return refusal(http.StatusConflict, ask, "the set waits for the approval of a person who is not "+to.Author, "midstream fleet approve  "+to.ID)
	case who.Name == "":
		return refusal(http.StatusUnprocessableEntity, title, "the request does not state who you are", "log in with a name")
	case who.Is(to.Author):
		return refusal(http.StatusForbidden, title, "you are its author, and another person must look at it", "ask someone with the role approve")
	case ask == "reject":
		to.Proposed, to.Rejected = false, fmt.Sprintf("rejected by %s: %s", who.Words(asked.By), asked.Reason)
	default:
		to.Proposed, to.Approval = false, &queue.Approval{By: who.Words(asked.By), At: time.Now().UTC()}
	}
	return nil
}
