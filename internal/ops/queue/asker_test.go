package queue

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// tokenOf is a person of a token with a name.
func tokenOf(name string, roles ...access.Role) access.Person {
	return access.Person{Name: name, Roles: roles, Named: true}
}

// callAs asks the API as a person.
func callAs(t *testing.T, s *Service, who access.Person, method, path string, body, answer any) (status int) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(method, path, bytes.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	s.Handler().ServeHTTP(response, request.WithContext(access.With(request.Context(), who)))
	if err := json.Unmarshal(response.Body.Bytes(), answer); err != nil {
		t.Fatalf("%s %s: %d, %s: %v", method, path, response.Code, response.Body, err)
	}
	return response.Code
}

// TestNoOperationWithoutARole: each operation of the API is refused to a person who lacks its role, with that role, and has no effect. An
// operation that changes something names its role.
func TestNoOperationWithoutARole(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	call(t, s, "POST", "/v1/changes", Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, new(Change))
	_, document := newAPI(s)
	n := 0
	for path, item := range document.Paths {
		for method, operation := range map[string]string{"GET": idOf(item.Get), "POST": idOf(item.Post), "DELETE": idOf(item.Delete), "PUT": idOf(item.Put)} {
			if operation == "" {
				continue
			}
			n++
			role, is := roles[operation]
			if !is && method != "GET" {
				t.Errorf("%s has no role", operation)
			}
			if !is {
				role = access.See
			}
			at := strings.ReplaceAll(path, "{id}", "a")
			nobody := access.Person{Name: "eve", Named: true}
			for _, other := range access.Roles() {
				if role != access.See && !(access.Person{Roles: []access.Role{other}}).May(role) {
					nobody.Roles = append(nobody.Roles, other)
				}
			}
			var problem socket.Problem
			if operation == "withdraw" {
				nobody.Roles = []access.Role{access.Approve}
			}
			if status := callAs(t, s, nobody, method, at, map[string]any{}, &problem); status != http.StatusForbidden ||
				!strings.Contains(problem.Detail, "eve lacks the role "+string(role)) || problem.Next == "" {
				t.Errorf("%s %s: %d, %+v", method, at, status, problem)
			}
		}
	}
	if a, _ := s.Change("a"); n < 19 || a.State != StateWaiting {
		t.Errorf("%d operations, %+v", n, a)
	}
}

// TestAPlannerOnlyPlans: a token with the role plan, such as that of a job for pull requests, gets past the roles of plans, and of nothing
// that changes something.
func TestAPlannerOnlyPlans(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	bot := tokenOf("bot", access.Plan)
	for operation := range roles {
		if got, want := bot.May(roles[operation]), operation == "plan" || operation == "plan-fleet"; got != want {
			t.Errorf("%s: %t", operation, got)
		}
	}
	var problem socket.Problem
	if status := callAs(t, s, bot, "POST", "/v1/plans", map[string]any{"server": "none", "statement": "DROP TABLE shop.orders"}, &problem); status == http.StatusForbidden {
		t.Errorf("%d, %+v", status, problem)
	}
	if status := callAs(t, s, bot, "POST", "/v1/changes", Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, &problem); status != http.StatusForbidden {
		t.Errorf("%d, %+v", status, problem)
	}
}

func idOf(operation *huma.Operation) string {
	if operation == nil {
		return ""
	}
	return operation.OperationID
}

// TestAChangeHasItsAuthor: the name of the token is the author, whatever the request states; who submits may withdraw the own changes only.
func TestAChangeHasItsAuthor(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	ann, bob, ops := tokenOf("ann", access.Submit), tokenOf("bob", access.Submit), tokenOf("ops", access.Operate)
	for _, id := range []string{"a", "b"} {
		var c Change
		if status := callAs(t, s, ann, "POST", "/v1/changes", Submission{ID: id, Server: "db1", Statement: "DROP TABLE shop.orders", By: "bob"}, &c); status != http.StatusCreated ||
			c.Author != "ann" || !strings.HasPrefix(c.SubmittedBy, "ann (bob) from ") {
			t.Errorf("%d, %+v", status, c)
		}
	}
	var problem socket.Problem
	if status := callAs(t, s, bob, "DELETE", "/v1/changes/a", nil, &problem); status != http.StatusForbidden ||
		!strings.Contains(problem.Detail, "bob lacks the role operate, and the change is of ann") {
		t.Errorf("%d, %+v", status, problem)
	}
	for id, who := range map[string]access.Person{"a": ann, "b": ops} {
		var c Change
		if status := callAs(t, s, who, "DELETE", "/v1/changes/"+id, nil, &c); status != http.StatusOK || c.State != StateWithdrawn {
			t.Errorf("%d, %+v", status, c)
		}
	}
	var me access.Person
	if status := callAs(t, s, ann, "GET", "/v1/me", nil, &me); status != http.StatusOK || me.Name != "ann" || !slices.Equal(me.Roles, ann.Roles) || !me.Named {
		t.Errorf("%d, %+v", status, me)
	}
}
