package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/access"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// OrderVerb is what a change set orders.
type OrderVerb string

// The verbs of orders.
const (
	OrderStart    OrderVerb = "start"    // begin the change, or run it again, and hold before the swap
	OrderRelease  OrderVerb = "release"  // swap
	OrderHold     OrderVerb = "hold"     // do not swap
	OrderPrepare  OrderVerb = "prepare"  // of a barrier: take the lock, and report for how long
	OrderCommit   OrderVerb = "commit"   // of a barrier: swap
	OrderWithdraw OrderVerb = "withdraw" // take a start back, unless the run has begun
	OrderAbort    OrderVerb = "abort"    // end the run, unless it has swapped
	OrderCheck    OrderVerb = "check"    // look at the tables, if it is not known whether they were swapped
	OrderUndo     OrderVerb = "undo"     // take the change back
)

// OrderVerbs lists the verbs.
func OrderVerbs() []OrderVerb {
	return []OrderVerb{
		OrderStart, OrderRelease, OrderHold, OrderPrepare, OrderCommit, OrderWithdraw, OrderAbort, OrderCheck, OrderUndo,
	}
}

// Order is an order of a change set for one of its members. The member is a change of the queue, with the id SET@SERVER.
// An order may come late, twice, or in another order: one whose number is not above the newest one has no effect.
type Order struct {
	Set     string     `json:"set" doc:"id of the change set"`
	Server  string     `json:"server" doc:"name of the server"`
	Number  uint64     `json:"number" minimum:"1" doc:"number of the order among those for the member"`
	Verb    OrderVerb  `json:"verb" enum:"start,release,hold,prepare,commit,withdraw,abort,check,undo" doc:"what is ordered"`
	Attempt int        `json:"attempt" minimum:"0" doc:"the set's number of the attempt, which counts starts and undos"`
	Round   int        `json:"round,omitempty" minimum:"0" doc:"of prepare and commit: the round of the barrier"`
	Until   *time.Time `json:"until,omitempty" doc:"of release: a later swap is not permitted; without it, no end"`
	HoldMS  int64      `json:"hold_ms,omitempty" minimum:"0" doc:"of prepare: how long the lock may be held, in milliseconds"`
	// What follows is the change. Each order has it, because any order may be the first one that arrives.
	Statement string            `json:"statement,omitempty" doc:"the statement, as in a submission"`
	Files     []File            `json:"files,omitempty" doc:"in the place of a statement, as in a submission"`
	Options   map[string]string `json:"options,omitempty" doc:"values of flags of midstream run, as in a submission"`
	By        string            `json:"by,omitempty" maxLength:"200" doc:"the author of the set"`
	// Approval is that of the set.
	Approval *Approval `json:"-"`
}

// MemberStatus is how far a member is.
type MemberStatus string

// The statuses that are no states of a change.
const (
	MemberReady    MemberStatus = "ready"
	MemberPrepared MemberStatus = "prepared"
	MemberUndoing  MemberStatus = "undoing"
	MemberUndone   MemberStatus = "undone"
)

// MemberReport is what a member of a change set reports.
type MemberReport struct {
	Change    string       `json:"change" doc:"id of its change: SET@SERVER"`
	Set       string       `json:"set" doc:"id of the change set"`
	Server    string       `json:"server" doc:"name of the server"`
	Version   uint64       `json:"version" doc:"grows with each change of the member"`
	Order     uint64       `json:"order" doc:"number of the newest order that the member has obeyed or refused"`
	Attempt   int          `json:"attempt" doc:"the set's number of the attempt that the status is about"`
	Status    MemberStatus `json:"status" enum:"waiting,running,ready,prepared,done,failed,withdrawn,aborted,unknown,undoing,undone" doc:"how far it is; ready: it holds before its swap; prepared: its lock is held; unknown: it is not known whether the tables were swapped"`
	Temporary bool         `json:"temporary" doc:"true: it has failed for a reason that may pass"`
	Why       string       `json:"why" doc:"the reason for the status, for people; may be empty"`
	WaitsFor  string       `json:"waits_for" doc:"of waiting: id of another change set, whose change of the same table comes first on this server; may be empty"`
	ExitCode  *int         `json:"exit_code" doc:"exit code of its last run; null if there is none"`
	Round     int          `json:"round" doc:"of prepared: the round of the barrier"`
	HoldMS    int64        `json:"hold_ms" doc:"of prepared: how long after the request the lock is held, in milliseconds"`
}

// ordered is what a change keeps that is a member of a change set, or takes one back.
type ordered struct {
	Set string `json:"set"`
	// Version grows with each write of the change.
	Version uint64 `json:"version"`
	// The newest order.
	Number  uint64     `json:"number"`
	Verb    OrderVerb  `json:"verb"`
	Attempt int        `json:"attempt"`
	Round   int        `json:"round"`
	Until   *time.Time `json:"until"`
	HoldMS  int64      `json:"hold_ms"`
	// Refused is why it could not be obeyed; "" if it was.
	Refused string `json:"refused"`
	// Passes is of a run that has ended for a cause that passes by itself.
	Passes bool `json:"passes"`
	// UndoBy is the change that takes this one back by an order; "" for none.
	UndoBy string `json:"undo_by"`
}

// MemberID is the id of the change of a member. No submission can have it.
func MemberID(set, server string) string { return set + "@" + server }

// CheckMember returns the error in the id of a member: the store has room for 64 characters, and the undo has an id of its own.
func CheckMember(set, server string) error {
	if !idForm.MatchString(set) || !idForm.MatchString(server) || len(MemberID(set, server)) > longestMember {
		return fmt.Errorf("%q is not the id of a member's change: the id of the set, @ and the name of the server must have at most %d letters, digits and . _ -",
			MemberID(set, server), longestMember)
	}
	return nil
}

// longestMember is the longest id of a member's change.
const longestMember = 64 - len("-undo-999")

const notOrdered = "the order was not taken"

// check returns what is wrong with an order.
func (o Order) check() error {
	if err := CheckMember(o.Set, o.Server); err != nil {
		return bad(notOrdered, err.Error(), "use a shorter id for the set")
	}
	if o.Number == 0 || !slices.Contains(OrderVerbs(), o.Verb) {
		return bad(notOrdered, fmt.Sprintf("%q with number %d is no order", o.Verb, o.Number), "number orders from 1")
	}
	return nil
}

// sentBy is an order as a request may give it: what begins something needs the role of a submission, and the name of a token is the author
// of the change, as in a submission.
func (o Order) sentBy(who Asker) (Order, error) {
	if who.Named {
		o.By = who.Name
	}
	switch o.Verb {
	case OrderStart, OrderCheck, OrderUndo:
		return o, who.needs(access.Submit)
	}
	return o, nil
}

// Drive reserves a change set for this service: requests give its members no orders. It returns a member that another driver of a set with
// this id has had; "" for none.
func (s *Service) Drive(set string) (member string) {
	s.writing.Lock() // no order is between its check and its write
	defer s.writing.Unlock()
	for _, e := range s.all() {
		if e.Member != nil && e.Member.Set == set {
			return e.ID
		}
	}
	s.driven.Store(set, true)
	return ""
}

// DriveOn is Drive for a set that this service has driven before.
func (s *Service) DriveOn(set string) { s.driven.Store(set, true) }

// drives reports whether the service itself drives a set.
func (s *Service) drives(set string) bool {
	_, is := s.driven.Load(set)
	return is
}

// Order takes an order for a member of a change set. When it returns, the order is stored, and counts. It fails with a *socket.Problem,
// or with what the store says; the order may then be sent again.
func (s *Service) Order(ctx context.Context, o Order) (MemberReport, error) {
	if err := o.check(); err != nil {
		return MemberReport{}, err
	}
	e, err := s.takeOrder(ctx, o)
	if err != nil {
		return MemberReport{}, err
	}
	if o.Verb != OrderPrepare && o.Verb != OrderCommit { // no change begins by them
		s.hurry()
	}
	s.instruct(ctx, e, nil)
	return s.member(s.find(e.ID)), nil
}

// takeOrder stores an order, with what it makes of the member's change at once.
func (s *Service) takeOrder(ctx context.Context, o Order) (*entry, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	who := AskerOf(ctx)
	e := s.find(MemberID(o.Set, o.Server))
	if e != nil && e.Member != nil && o.Number <= e.Member.Number {
		return e, nil
	}
	if e != nil && e.Undoes != "" { // a server may have a name that ends like an undo
		return nil, &socket.Problem{Status: http.StatusConflict, Title: notOrdered, Detail: "change " + e.ID + " takes back " + e.Undoes, Next: "use another id for the set"}
	}
	changed, undo, err := s.ordered(e, o, who)
	if err != nil {
		return nil, err
	}
	told := who.Act(string(o.Verb), o.By, fmt.Sprintf("order %d of set %s", o.Number, o.Set))
	told.Set = o.Set
	if undo != nil { // both or none
		return changed, s.replaceBoth(ctx, changed, undo, told)
	}
	return changed, s.replace(ctx, changed, told)
}

// ordered is what an order makes of a member's change, nil for none yet, and of the change that takes it back.
func (s *Service) ordered(e *entry, o Order, who Asker) (changed, undo *entry, err error) {
	if e == nil || len(e.Tables) == 0 && o.Verb == OrderStart {
		if changed, err = s.newMember(e, o, who); err != nil {
			return nil, nil, err
		}
		changed.Member = e.newest(o)
		return changed, nil, nil
	}
	copied := *e
	changed = &copied
	switch waits := e.State == StateWaiting || e.State == StateProposed; o.Verb {
	case OrderStart:
		if e.State.Over() && e.State != StateDone {
			if changed, err = s.nextAttempt(e, o, who); err != nil {
				return nil, nil, err
			}
		}
	case OrderWithdraw, OrderAbort:
		if waits {
			changed.end(StateWithdrawn, "its change set took it back before it began", "")
		}
	case OrderCheck:
		if e.State == StateUnknown {
			changed, err = s.nextAttempt(e, o, who)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	changed.Member = e.newest(o)
	if of := s.find(changed.Member.UndoBy); o.Verb == OrderUndo || o.Verb == OrderCheck && of != nil && of.State == StateUnknown {
		undo = s.takesBack(changed, who)
	}
	return changed, undo, nil
}

// newest notes an order. The change may be nil.
func (e *entry) newest(o Order) *ordered {
	m := ordered{Set: o.Set}
	if e != nil && e.Member != nil {
		m = *e.Member
	}
	m.Number, m.Verb, m.Attempt, m.Round, m.Until, m.HoldMS, m.Refused = o.Number, o.Verb, o.Attempt, o.Round, o.Until, o.HoldMS, ""
	if o.Verb == OrderPrepare {
		m.Version++ // for the answer, which is not stored (rounds)
	}
	return &m
}

// newMember is the change of a member that has none yet. An order that is no start makes one that is over: the start that comes late
// then has no effect.
func (s *Service) newMember(e *entry, o Order, who Asker) (*entry, error) {
	asked := tidied(Submission{
		ID: MemberID(o.Set, o.Server), Server: o.Server, Statement: o.Statement, Files: o.Files, Options: maps.Clone(o.Options),
		member: true,
	})
	changed := &entry{Texts: asked.Files, Sequence: s.last() + 1, Change: Change{
		ID: asked.ID, Server: o.Server, Statement: asked.Statement, Files: fileNames(asked.Files), Options: asked.Options,
		After:     asked.After,
		Submitted: time.Now().UTC(), SubmittedBy: who.Words(o.By), Author: access.Stated(o.By), Approval: o.Approval, Attempt: 1,
	}}
	if e != nil { // an order that came before its start
		changed = e.again(who.Words(o.By))
		changed.Sequence, changed.Approval = s.last()+1, o.Approval
	}
	if o.Verb != OrderStart {
		changed.end(StateWithdrawn, "its change set took it back before it began", "")
		return changed, nil
	}
	tables, err := s.read(asked)
	if err != nil && s.servers.has(o.Server) {
		code := record.CodeWrongUsage
		changed.end(StateFailed, err.Error(), "")
		changed.ExitCode = &code
		return changed, nil
	} else if err != nil { // the inventory may get it
		return nil, err
	}
	changed.Tables, changed.Table = tables, tables[0].Dotted()
	return changed, s.proposes(changed)
}

// nextAttempt is a member's change with its next attempt.
func (s *Service) nextAttempt(e *entry, o Order, who Asker) (*entry, error) {
	changed := e.again(who.Words(o.By))
	changed.Sequence = s.last() + 1
	if changed.Approval == nil {
		changed.Approval = o.Approval
	}
	return changed, s.proposes(changed)
}

// takesBack is the change that takes a member's change back, which is new, waits again, or is at work already. It returns nil, with the
// reason in the member, if there can be none.
func (s *Service) takesBack(of *entry, who Asker) *entry {
	m := of.Member
	undo := s.find(m.UndoBy)
	if last, times := s.takenBack(of); undo == nil && times%2 == 1 { // a person has
		undo = s.find(last)
	} else if undo == nil {
		s.mu.RLock()
		undo = s.board.find(s.board.takers[of.ID])
		s.mu.RUnlock()
	}
	err := error(nil)
	switch {
	case undo != nil && (!undo.State.Over() || undo.State == StateDone):
		copied := *undo
		undo = &copied
	case undo != nil:
		if err = s.mayRunAgain(undo, 0); err == nil {
			before := undo.Member
			undo = undo.again(who.Words(""))
			undo.Sequence, undo.State, undo.Member = s.last()+1, StateWaiting, before
		}
	default:
		if err = s.mayUndo(of); err == nil {
			undo, err = s.undoEntry(of, UndoRequest{By: of.Author}, who)
		}
	}
	if err != nil {
		m.Refused = err.Error()
		return nil
	}
	if undo.Member == nil {
		undo.Member = &ordered{Set: m.Set}
	}
	m.UndoBy = undo.ID
	return undo
}

// replaceBoth keeps two changes in one step.
func (s *Service) replaceBoth(ctx context.Context, e, undo *entry, told audit.Entry) error {
	first, err := e.row(nil)
	second, failed := undo.row(nil)
	if err = errors.Join(err, failed); err == nil {
		err = s.write(ctx, s.toldOf(e, []audit.Entry{told}), first, second)
	}
	if err != nil {
		return fmt.Errorf("keep change %s: %w: %w", e.ID, errUnkept, err)
	}
	s.show(e)
	s.show(undo)
	return nil
}

// gives reports whether the set has taken the change back.
func (e *entry) gives() bool {
	return e.Member != nil && (e.Member.Verb == OrderWithdraw || e.Member.Verb == OrderAbort)
}

// mayPassLater notes that the run of a member has ended for a cause that passes by itself. The set decides when to try again.
func (e *entry) mayPassLater(passes bool) {
	if e.Member != nil {
		m := *e.Member
		m.Passes = passes
		e.Member = &m
	}
}

// Members are the members of a set, as they are known here.
func (s *Service) Members(_ context.Context, set string) ([]MemberReport, error) {
	list := []MemberReport{}
	for _, e := range s.all() {
		if e.Member != nil && e.Undoes == "" && e.Member.Set == set {
			list = append(list, s.member(e))
		}
	}
	return list, nil
}

// member is what a member reports.
func (s *Service) member(e *entry) MemberReport {
	m := e.Member
	r := MemberReport{
		Change: e.ID, Set: m.Set, Server: e.Server, Version: m.Version, Order: m.Number, Attempt: m.Attempt,
		Status: MemberStatus(e.State), ExitCode: e.ExitCode, Why: e.Why,
	}
	switch {
	case e.State == StateProposed:
		r.Status = MemberStatus(StateWaiting)
	case e.Ready != nil && e.State == StateRunning:
		r.Status = MemberReady
		s.rounds.report(e, &r)
	}
	r.Temporary = e.State == StateFailed && (m.Passes || mayPass(e.ExitCode))
	if e.State == StateWaiting || e.State == StateRunning {
		r.Why = s.view(e).Why
	}
	if e.State == StateWaiting {
		r.WaitsFor = s.setBefore(e)
	}
	last, times := s.takenBack(e)
	r.Version += uint64(times) //nolint:gosec // it is not negative
	if undo := s.find(m.UndoBy); undo != nil {
		s.memberUndone(&r, undo)
	} else if times%2 == 1 { // by a person
		r.Status, r.Why = MemberUndone, "change "+last+" has taken it back: midstream submit  --undo="+last+" makes it again"
	}
	if m.Refused != "" {
		r.Status, r.Temporary, r.Why = MemberStatus(StateFailed), false, m.Refused
	}
	return r
}

// setBefore is the id of another change set, whose change of a table comes before that of a waiting one; "" for none.
func (s *Service) setBefore(e *entry) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if other := s.board.before(e); other != nil && other.Member != nil && other.Member.Set != e.Member.Set {
		return other.Member.Set
	}
	return ""
}

// memberUndone is what a member reports that is taken back.
func (s *Service) memberUndone(r *MemberReport, undo *entry) {
	if undo.Member != nil {
		r.Version += undo.Member.Version
		r.Temporary = undo.Member.Passes
	}
	r.ExitCode, r.Why = undo.ExitCode, undo.Why
	r.Temporary = r.Temporary || mayPass(undo.ExitCode)
	switch undo.State {
	case StateDone:
		r.Status = MemberUndone
	case StateUnknown:
		r.Status = MemberStatus(StateUnknown)
	case StateFailed, StateAborted, StateWithdrawn:
		r.Status = MemberStatus(StateFailed)
	default:
		r.Status, r.Why = MemberUndoing, s.view(undo).Why
	}
	r.Temporary = r.Temporary && r.Status == MemberStatus(StateFailed)
}

// mayPass reports whether the exit code of a run that has failed is one after which the same command may succeed.
func mayPass(code *int) bool {
	return code != nil && slices.Contains([]int{record.CodeUnknown, record.CodeStopped, record.CodeBusy, record.CodeAtOnce}, *code)
}

// telling is the last command to the run of a member.
type telling struct {
	number    uint64
	process   int
	operation string
	at        time.Time
	refused   bool
}

// tellEvery is the time between two commands to a run that has not obeyed.
const tellEvery = 5 * time.Second

// instruct has the run of a member obey the newest order. It is called after an order, and again with each status of the run, so that an
// order takes effect whatever was killed in between.
func (s *Service) instruct(ctx context.Context, e *entry, status *socket.Status) {
	operation, asked := e.commanded(time.Now())
	if operation == "" || e.State != StateRunning || e.Place != s.place || e.Process == 0 || swaps(operation) && s.frozenSwap(e) != nil {
		return
	}
	if operation == "hold" && status != nil && status.State == "held" {
		return
	}
	if operation == "prepare" {
		if status == nil { // one that was lost is not sent again: its round is over soon
			s.prepare(ctx, e, asked)
		}
		return
	}
	now := telling{number: e.Member.Number, process: e.Process, operation: operation, at: time.Now()}
	s.mu.RLock()
	last := s.instructed[e.ID]
	s.mu.RUnlock()
	same := last.number == now.number && last.process == now.process && last.operation == operation
	held := status != nil && swaps(operation) && status.State == "held"
	if same && (!held && !last.refused || now.at.Sub(last.at) < tellEvery) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, statesTime)
	defer cancel()
	run, err := s.runOf(ctx, e)
	if err == nil {
		err = run.Call(access.WithBy(ctx, "set "+e.Member.Set), http.MethodPost, operation, asked, &socket.Answer{})
	}
	var problem *socket.Problem
	if now.refused = errors.As(err, &problem); run == nil || err != nil && !now.refused {
		return // askStates comes back to it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instructed[e.ID] = now
}

// swaps reports whether a command lets a run swap.
func swaps(operation string) bool { return operation == "cutover" || operation == "commit" }

// commanded is the command to the run of a member by its newest order; "" for none.
func (e *entry) commanded(now time.Time) (operation string, asked any) {
	m := e.Member
	if m == nil || e.Undoes != "" {
		return "", nil
	}
	switch m.Verb {
	case OrderRelease:
		if m.Until != nil && !now.Before(*m.Until) {
			return "hold", struct{}{}
		}
		return "cutover", socket.CutOverCommand{}
	case OrderHold:
		return "hold", struct{}{}
	case OrderAbort:
		return "abort", socket.AbortCommand{}
	case OrderPrepare:
		return "prepare", socket.PrepareCommand{Round: m.Round, HoldMS: m.HoldMS}
	case OrderCommit:
		return "commit", socket.CommitCommand{Round: m.Round}
	}
	return "", nil
}

// registerMembers registers what change sets order, and what their members report.
func (s *Service) registerMembers(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "members", Method: http.MethodGet, Path: "/v1/members", Summary: "Members of a change set, as the queue knows them"},
		func(ctx context.Context, in *ofSet) (*body[[]MemberReport], error) {
			list, err := s.Members(ctx, in.Set)
			return &body[[]MemberReport]{list}, err
		},
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "order", Method: http.MethodPost, Path: "/v1/members", Summary: "Order something from a member of a change set",
			MaxBodyBytes: mostBody,
			Description:  "start, check and undo need the role submit, too. 409: the service drives the set itself, or the id is that of an undo. The order counts once the answer is there. One whose number is not above the newest one of the member has no effect, so a driver may send an order again.",
			Errors:       []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError}},
		func(ctx context.Context, in *body[Order]) (*body[MemberReport], error) {
			o, err := in.Body.sentBy(AskerOf(ctx))
			if err == nil && s.drives(o.Set) {
				err = &socket.Problem{Status: http.StatusConflict, Title: notOrdered, Detail: "this service drives the set " + o.Set + " itself",
					Next: "midstream fleet status  " + o.Set + " shows what can be asked for"}
			}
			if err != nil {
				return nil, ProblemOf(err)
			}
			m, err := s.Order(ctx, o)
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[MemberReport]{m}, nil
		},
	)
}

// ofSet names a change set.
type ofSet struct {
	Set string `query:"set" required:"true" doc:"id of the change set"`
}
