package queue

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// EveryServer in Config.Approve means all servers.
const EveryServer = "all"

// Approval is the consent of another person to a change.
type Approval struct {
	By string    `json:"by" doc:"who approved the change, and from which address"`
	At time.Time `json:"at" doc:"when"`
}

// NeedsApproval reports whether changes of a server wait for the consent of another person.
func (s *Service) NeedsApproval(server string) bool {
	return s.cfg.Approve[server] || s.cfg.Approve[EveryServer]
}

// proposes gives a new change, or a new attempt, the state in which it begins: it waits for a consent that it needs and does not have.
// It fails if the author is not known, because then no one could be another person.
func (s *Service) proposes(e *entry) error {
	e.State = StateWaiting
	if !s.NeedsApproval(e.Server) || e.Approval != nil {
		return nil
	}
	if e.Author == "" {
		return bad(notQueued, "the changes of "+e.Server+" need the approval of a person who is not the author, and this one has no author",
			"log in with a name, set by, or send the header "+access.Header)
	}
	e.State = StateProposed
	return nil
}

// proposed is what a change waits for that needs a consent.
func (e *entry) proposed() (why, next string) {
	return "it waits for the approval of a person who is not " + e.Author, "another person gives midstream approve  " + e.ID + ", or midstream reject  " + e.ID
}

const notApproved = "the change is not approved"

// mayDecide fails with a *socket.Problem if a person may not approve or reject a change.
func (a Asker) mayDecide(e *entry, title string) error {
	switch {
	case e.State != StateProposed:
		return &socket.Problem{Status: http.StatusConflict, Title: title, Detail: "it is " + string(e.State) + ", and waits for no approval"}
	case a.Name == "":
		return bad(title, "the request does not state who you are", "log in with a name, or send the header "+access.Header)
	case a.Is(e.Author):
		return &socket.Problem{
			Status: http.StatusForbidden, Title: title, Detail: "you are its author, and another person must look at it",
			Next: "ask someone with the role approve; to take it back: midstream withdraw  " + e.ID,
		}
	}
	return nil
}

// Approve lets a change take its turn, after all changes that wait already. Whoever has approved it before gets the same answer.
func (s *Service) Approve(ctx context.Context, id string, who Asker) (Change, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil {
		return Change{}, unknown(id)
	}
	if e.Approval != nil && e.State != StateProposed {
		return s.view(e), nil
	}
	if err := who.mayDecide(e, notApproved); err != nil {
		return Change{}, err
	}
	changed := *e
	changed.State, changed.Sequence = StateWaiting, s.last()+1
	changed.Approval = &Approval{By: who.Words(""), At: time.Now().UTC()}
	if err := s.replace(ctx, &changed, who.Act("approve", "", "")); err != nil {
		s.doubted[id] = true
		return Change{}, err
	}
	delete(s.doubted, id)
	s.hurry()
	return s.view(&changed), nil
}

// Rejection is a refusal to approve.
type Rejection struct {
	Reason string `json:"reason" maxLength:"500" doc:"why, for the author"`
}

// Reject ends a change that waits for an approval.
func (s *Service) Reject(ctx context.Context, id string, asked Rejection, who Asker) (Change, error) {
	const title = "the change is not rejected"
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil {
		return Change{}, unknown(id)
	}
	if err := who.mayDecide(e, title); err != nil {
		return Change{}, err
	}
	reason := strings.TrimSpace(asked.Reason)
	if reason == "" {
		return Change{}, bad(title, "the reason is missing", "add it: midstream reject  "+id+" --reason '...'")
	}
	changed := *e
	changed.end(StateWithdrawn, "rejected by "+who.Words("")+": "+reason, "submit another change, or propose this one again: "+runAgain(id))
	if err := s.replace(ctx, &changed, who.Act("reject", "", reason)); err != nil {
		return Change{}, err
	}
	s.hurry()
	return s.view(&changed), nil
}

// because adds a reason to the end of a change.
func because(why, reason string) string {
	return strings.TrimSuffix(why+": "+strings.TrimSpace(reason), ": ")
}

// registerApprovals registers the decisions on changes.
func (s *Service) registerApprovals(api huma.API) {
	errors := append([]int{http.StatusForbidden}, runErrors...)
	huma.Register(
		api,
		huma.Operation{OperationID: "approve", Method: http.MethodPost, Path: "/v1/changes/{id}/approve", Summary: "Approve a change of another person",
			Description: "The change then waits for its turn, after those that wait already. 403: you are its author.", Errors: errors},
		func(ctx context.Context, in *commanded[struct{}]) (*body[Change], error) {
			c, err := s.Approve(ctx, in.ID, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Change]{c}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "reject", Method: http.MethodPost, Path: "/v1/changes/{id}/reject", Summary: "Reject a change of another person that waits for an approval",
			Description: "The change is withdrawn, with the reason.", Errors: errors},
		func(ctx context.Context, in *commanded[Rejection]) (*body[Change], error) {
			c, err := s.Reject(ctx, in.ID, in.Body, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Change]{c}, nil
		},
	)
}
