package queue

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
	"midstream/internal/ops/undos"
)

// ordering is an order for a member of the set s.
func ordering(number uint64, verb OrderVerb, attempt int) Order {
	return Order{
		Set: "s", Server: "db1", Number: number, Verb: verb, Attempt: attempt, Statement: "ALTER TABLE shop.orders ADD COLUMN c INT",
		Options: map[string]string{"hold": "true"}, By: "Ada",
	}
}

// orders sends orders to a service, and returns the answer to the last one.
func orders(t *testing.T, s *Service, all ...Order) (m MemberReport) {
	t.Helper()
	for _, o := range all {
		if status := call(t, s, "POST", "/v1/members", o, &m); status != http.StatusOK {
			t.Fatalf("%s %d: %d", o.Verb, o.Number, status)
		}
	}
	return m
}

// becomes has the change of the member be in another state.
func becomes(t *testing.T, s *Service, change func(e *entry)) {
	t.Helper()
	changed := *s.find("s@db1")
	change(&changed)
	if err := s.replace(t.Context(), &changed); err != nil {
		t.Fatal(err)
	}
}

// TestAMemberIgnoresLateOrders: an order whose number is not above the newest one has no effect, also after a restart, and the first order
// of a member may be any.
func TestAMemberIgnoresLateOrders(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "s.db"), t.TempDir()
	store := file(t, path)
	s := in(t, store, folder)
	m := orders(t, s, ordering(2, OrderWithdraw, 1), ordering(1, OrderStart, 1))
	if m.Status != MemberStatus(StateWithdrawn) || m.Order != 2 || m.Attempt != 1 || m.Change != "s@db1" {
		t.Fatalf("%+v", m)
	}
	version := m.Version
	closes(t, store)
	s.Close()
	s = in(t, file(t, path), folder)
	m = orders(t, s, ordering(2, OrderStart, 1))
	if m.Status != MemberStatus(StateWithdrawn) || m.Version != version {
		t.Fatalf("%+v", m)
	}
	m = orders(t, s, ordering(3, OrderStart, 2))
	if e := s.find("s@db1"); m.Status != "waiting" || m.Attempt != 2 || m.Version <= version || e.Options["hold"] != "true" || e.Table != "shop.orders" || e.Author != "Ada" {
		t.Fatalf("%+v %+v", m, e)
	}
	m = orders(t, s, ordering(4, OrderAbort, 2), ordering(3, OrderStart, 2))
	if m.Status != MemberStatus(StateWithdrawn) || m.Order != 4 {
		t.Fatalf("%+v", m)
	}
	var list []MemberReport
	if call(t, s, "GET", "/v1/members?set=s", nil, &list); len(list) != 1 || list[0].Version != m.Version {
		t.Errorf("%+v", list)
	}
	var change Change
	if status := call(t, s, "POST", "/v1/changes", Submission{ID: "s@db1", Server: "db1", Statement: "ALTER TABLE shop.orders ENGINE=InnoDB"}, &change); status != http.StatusUnprocessableEntity {
		t.Errorf("a submission has the id of a member: %d", status)
	}
}

// TestAMemberReportsItsEnd: what may pass, what stops the member, and what the set is to look at.
func TestAMemberReportsItsEnd(t *testing.T) {
	for _, c := range []struct {
		state     State
		code      int
		passes    bool
		temporary bool
		status    MemberStatus
	}{
		{StateFailed, record.CodeStopped, false, true, "failed"}, {StateFailed, record.CodeBusy, false, true, "failed"},
		{StateFailed, record.CodeFailed, true, true, "failed"}, {StateFailed, record.CodeFailed, false, false, "failed"},
		{StateFailed, record.CodeRefused, false, false, "failed"}, {StateFailed, record.CodeWrongUsage, false, false, "failed"},
		{StateFailed, record.CodeMismatch, false, false, "failed"}, {StateFailed, record.CodeUnfit, false, false, "failed"},
		{StateUnknown, record.CodeUnknown, false, false, "unknown"}, {StateUnknown, record.CodeAtOnce, false, false, "unknown"},
		{StateAborted, record.CodeAborted, false, false, "aborted"}, {StateDone, record.CodeDone, false, false, "done"},
	} {
		s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
		orders(t, s, ordering(1, OrderStart, 1))
		becomes(t, s, func(e *entry) {
			e.end(c.state, "so", "")
			e.ExitCode = &c.code
			e.mayPassLater(c.passes)
		})
		list, err := s.Members(t.Context(), "s")
		if err != nil || list[0].Status != c.status || list[0].Temporary != c.temporary || list[0].Why != "so" {
			t.Errorf("%s with %d: %+v, %v", c.state, c.code, list, err)
		}
		m := orders(t, s, ordering(2, OrderCheck, 1))
		if want := c.state == StateUnknown; (m.Status == "waiting") != want {
			t.Errorf("%s with %d, checked: %+v", c.state, c.code, m)
		}
	}
}

// TestAMemberIsBegunOnce: a start of a change that runs or is done begins nothing, and one of a change that has failed begins its next
// attempt.
func TestAMemberIsBegunOnce(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	orders(t, s, ordering(1, OrderStart, 1))
	becomes(t, s, func(e *entry) { e.State = StateRunning })
	if m := orders(t, s, ordering(2, OrderStart, 2)); m.Status != "running" || s.find("s@db1").number() != 1 {
		t.Errorf("%+v", m)
	}
	becomes(t, s, func(e *entry) { e.end(StateFailed, "", ""); e.mayPassLater(true) })
	if m := orders(t, s, ordering(3, OrderStart, 3)); m.Status != "waiting" || m.Temporary || s.find("s@db1").number() != 2 {
		t.Errorf("%+v", m)
	}
	becomes(t, s, func(e *entry) { e.end(StateDone, "", "") })
	if m := orders(t, s, ordering(4, OrderStart, 4)); m.Status != "done" || m.Attempt != 4 {
		t.Errorf("%+v", m)
	}
	if m := orders(t, s, ordering(5, OrderUndo, 5)); m.Status != "failed" || m.Temporary || m.Why == "" {
		t.Errorf("the change has no undo: %+v", m)
	}
}

// TestAMembersCommand: the newest order is the command to the run, and a release ends with its window.
func TestAMembersCommand(t *testing.T) {
	now, later := time.Now(), time.Now().Add(time.Minute)
	for _, c := range []struct {
		m    ordered
		want string
	}{
		{ordered{Verb: OrderStart}, ""}, {ordered{Verb: OrderCheck}, ""}, {ordered{Verb: OrderWithdraw}, ""},
		{ordered{Verb: OrderRelease}, "cutover"}, {ordered{Verb: OrderRelease, Until: &later}, "cutover"}, {ordered{Verb: OrderRelease, Until: &now}, "hold"},
		{ordered{Verb: OrderHold}, "hold"}, {ordered{Verb: OrderAbort}, "abort"},
	} {
		if got, _ := (&entry{Member: &c.m}).commanded(now); got != c.want {
			t.Errorf("%+v: %q", c.m, got)
		}
	}
}

// withUndos has a service take undos.
func withUndos(t *testing.T, s *Service) {
	s.cfg.Undos = undos.New(nil, t.TempDir())
	s.cfg.Read = func(verb string, arguments []string, statement string) ([]schema.Name, error) {
		if verb == "undo" {
			return nil, nil
		}
		return reading(verb, arguments, statement)
	}
}

// TestAMemberIsTakenBackOnce: the undo of a member is one change, stored with the order, and another attempt of it is the same change.
func TestAMemberIsTakenBackOnce(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "s.db"), t.TempDir()
	store := file(t, path)
	s := in(t, store, folder)
	withUndos(t, s)
	orders(t, s, ordering(1, OrderStart, 1))
	becomes(t, s, func(e *entry) {
		e.end(StateDone, "", "")
		e.Kept = &keptUndo{schema.Name{Schema: "shop", Table: "orders"}.Dotted(), time.Now().UTC()}
	})
	m := orders(t, s, ordering(2, OrderUndo, 2), ordering(2, OrderUndo, 2))
	if m.Status != MemberUndoing || s.find("s@db1-undo") == nil || len(s.all()) != 2 {
		t.Fatalf("%+v", m)
	}
	closes(t, store)
	s.Close()
	s = in(t, file(t, path), folder)
	withUndos(t, s)
	ends := func(state State, code int) {
		t.Helper()
		changed := *s.find("s@db1-undo")
		changed.end(state, "so", "")
		changed.ExitCode = &code
		if err := s.replace(t.Context(), &changed); err != nil {
			t.Fatal(err)
		}
	}
	ends(StateFailed, record.CodeStopped)
	list, err := s.Members(t.Context(), "s")
	if err != nil || len(list) != 1 || list[0].Status != "failed" || !list[0].Temporary || list[0].Version <= m.Version {
		t.Fatalf("%+v %v", list, err)
	}
	if m = orders(t, s, ordering(3, OrderUndo, 3)); m.Status != MemberUndoing || s.find("s@db1-undo").number() != 2 || len(s.all()) != 2 {
		t.Fatalf("%+v", m)
	}
	ends(StateUnknown, record.CodeUnknown)
	if m = orders(t, s, ordering(4, OrderCheck, 3)); m.Status != MemberUndoing || s.find("s@db1-undo").number() != 3 {
		t.Fatalf("%+v", m)
	}
	ends(StateDone, record.CodeDone)
	if m = orders(t, s, ordering(5, OrderUndo, 4)); m.Status != MemberUndone || len(s.all()) != 2 {
		t.Fatalf("%+v", m)
	}
}

// TestAnOrderGivesNoRole: over the API, an order that begins something needs the role submit as well, and the name of the token is the
// author, so nobody approves the own change. A set that the service itself drives takes no orders from outside.
func TestAnOrderGivesNoRole(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	s.cfg.Approve = map[string]bool{"db1": true}
	ops, both := tokenOf("ops", access.Operate), tokenOf("mel", access.Submit, access.Operate, access.Approve)
	var problem socket.Problem
	for _, verb := range []OrderVerb{OrderStart, OrderCheck, OrderUndo} {
		if status := callAs(t, s, ops, "POST", "/v1/members", ordering(1, verb, 1), &problem); status != http.StatusForbidden ||
			!strings.Contains(problem.Detail, "ops lacks the role submit") || s.find("s@db1") != nil {
			t.Errorf("%s: %d %+v", verb, status, problem)
		}
	}
	var m MemberReport
	if status := callAs(t, s, both, "POST", "/v1/members", ordering(1, OrderStart, 1), &m); status != http.StatusOK || s.find("s@db1").State != StateProposed {
		t.Fatalf("%d %+v", status, m)
	}
	if status := callAs(t, s, both, "POST", "/v1/changes/s@db1/approve", struct{}{}, &problem); status != http.StatusForbidden {
		t.Errorf("the author approves: %d %+v", status, problem)
	}
	if member := s.Drive("s"); member != "s@db1" {
		t.Errorf("%q", member)
	}
	if member := s.Drive("own"); member != "" {
		t.Errorf("%q", member)
	}
	o := ordering(1, OrderStart, 1)
	o.Set = "own"
	if status := callAs(t, s, both, "POST", "/v1/members", o, &problem); status != http.StatusConflict || s.find("own@db1") != nil {
		t.Errorf("%d %+v", status, problem)
	}
	if _, err := s.Order(WithPerson(t.Context(), "set own"), o); err != nil || s.find("own@db1").Author != "Ada" {
		t.Errorf("%v", err)
	}
}

// TestAnUndoIsNoMember: a server may have a name like the end of an undo's id. An order for it does not reach the undo, and an undo does
// not take its id.
func TestAnUndoIsNoMember(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	orders(t, s, ordering(1, OrderStart, 1))
	of := s.find("s@db1")
	if id := s.undoID(of); id != "s@db1-undo" {
		t.Errorf("%s", id)
	}
	undo := &entry{Tables: of.Tables, Sequence: s.last() + 1, Change: Change{ID: "s@db1-undo", Server: "db1", Undoes: of.ID, State: StateDone}}
	if err := s.replace(t.Context(), undo); err != nil {
		t.Fatal(err)
	}
	o := ordering(1, OrderStart, 1)
	o.Server = "db1-undo"
	var problem socket.Problem
	if status := call(t, s, "POST", "/v1/members", o, &problem); status != http.StatusConflict || s.find("s@db1-undo").Member != nil {
		t.Errorf("%d %+v", status, problem)
	}
}

// TestAMemberReportsAnUndoByHand: what a person takes back, and makes again, without the set. Each is a newer report.
func TestAMemberReportsAnUndoByHand(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	m := orders(t, s, ordering(1, OrderStart, 1))
	becomes(t, s, func(e *entry) { e.end(StateDone, "", "") })
	before, of := m.Version, "s@db1"
	for _, want := range []MemberStatus{MemberUndone, MemberStatus(StateDone), MemberUndone} {
		undo := &entry{Tables: s.find("s@db1").Tables, Sequence: s.last() + 1, Change: Change{ID: of + "-u", Server: "db1", Undoes: of, State: StateDone}}
		if err := s.replace(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
		list, err := s.Members(t.Context(), "s")
		if err != nil || len(list) != 1 || list[0].Status != want || list[0].Version <= before {
			t.Fatalf("%+v %v, want %s", list, err, want)
		}
		before, of = list[0].Version, undo.ID
	}
}
