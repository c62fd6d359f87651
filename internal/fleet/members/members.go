package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/mysql/schema/token"
	"midstream/internal/ops/queue"
)

// Queue is a queue of changes: that of this process (*queue.Service), or of another one (*queue.Client).
type Queue interface {
	// Order stores an order for a member, which then counts. It may be called again with the same order.
	Order(ctx context.Context, o queue.Order) (queue.MemberReport, error)
	// Members returns the members of a set that have had an order.
	Members(ctx context.Context, set string) ([]queue.MemberReport, error)
	// Freezes returns the freezes that last.
	Freezes(ctx context.Context) ([]queue.Freeze, error)
}

// World is what a fleet knows that its queue does not.
type World interface {
	// Servers returns the labels of the servers of the inventory, with the label server; nil if there is no news.
	Servers(ctx context.Context) (map[string]map[string]string, error)
	// Plans returns the outcomes of the fleet plan for members that have been planned. It does not wait for plans.
	Plans(ctx context.Context, state rollout.State) (map[string]rollout.Outcome, error)
	// Requests returns what persons have asked for, after a number.
	Requests(ctx context.Context, after uint64) ([]rollout.Request, error)
	// Finish hears that the set has ended. It may hear it again.
	Finish(ctx context.Context) error
}

// Fleet is a driver.Fleet whose members are changes of a queue.
type Fleet struct {
	Set   rollout.Set
	Queue Queue
	World World
	// Files are those of the set, with their texts.
	Files []queue.File
	// Approval is that of the set, for servers whose changes need one; nil for none.
	Approval *queue.Approval
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Facts collects what is known now.
func (f *Fleet) Facts(ctx context.Context, state rollout.State) (facts rollout.Facts, err error) {
	facts.Now = time.Now().UTC()
	if f.Now != nil {
		facts.Now = f.Now()
	}
	members, err := f.Queue.Members(ctx, f.Set.ID)
	if err != nil {
		return facts, fmt.Errorf("ask the queue for the members: %w", err)
	}
	for _, m := range members {
		facts.Reports = append(facts.Reports, ReportOf(m))
	}
	freezes, err := f.Queue.Freezes(ctx)
	if err != nil {
		return facts, fmt.Errorf("ask the queue for the freezes: %w", err)
	}
	for _, one := range freezes {
		facts.Freezes = append(facts.Freezes, FreezeOf(one))
	}
	if facts.Servers, err = f.World.Servers(ctx); err != nil {
		return facts, err
	}
	if facts.Plans, err = f.World.Plans(ctx, state); err != nil {
		return facts, err
	}
	facts.Requests, err = f.World.Requests(ctx, state.Handled)
	return facts, err
}

// Do sends an order to its member, or reports the end of the set.
func (f *Fleet) Do(ctx context.Context, a rollout.Action) error {
	if a.Verb == rollout.VerbFinish {
		return f.World.Finish(ctx)
	}
	_, err := f.Queue.Order(ctx, f.OrderOf(a))
	return err
}

// OrderOf is an action as the queue takes it. Each order has the change, because any one may be the first that arrives.
func (f *Fleet) OrderOf(a rollout.Action) queue.Order {
	o := queue.Order{
		Set: a.Set, Server: a.Server, Number: a.Order, Verb: queue.OrderVerb(a.Verb), Attempt: a.Attempt, Round: a.Round,
		Statement: f.Set.Statement, Files: f.Files, Options: maps.Clone(Options(f.Set)), By: f.Set.Author, Approval: f.Approval,
	}
	if !a.Until.IsZero() {
		until := a.Until.UTC()
		o.Until = &until
	}
	if a.Verb == rollout.VerbPrepare {
		o.HoldMS = f.Set.Swap.Hold.Milliseconds()
	}
	return o
}

// Options are the options with which the members of a set run. Each holds before its swap, and obeys the swap window by its own clock.
func Options(set rollout.Set) map[string]string {
	options := map[string]string{"hold": "true"}
	if !set.Swap.Window.IsZero() {
		options["cutover-window"] = set.Swap.Window.String()
	}
	if set.Swap.When == rollout.WhenBarrier {
		options["method"] = "shadow" // only such a run has a lock before it swaps
	}
	switch {
	case set.Undo > 0:
		options["undo"] = set.Undo.String()
	case len(set.Files) > 0:
		options["undo"] = "0s" // several tables in one step keep none, also if the server's option file has one
	}
	return options
}

// ReportOf is what a member of the queue reports.
func ReportOf(m queue.MemberReport) rollout.Report {
	return rollout.Report{
		Server: m.Server, Version: m.Version, Order: m.Order, Attempt: m.Attempt, Status: rollout.Status(m.Status), Temporary: m.Temporary,
		Why: m.Why, WaitsFor: m.WaitsFor, Round: m.Round, Hold: time.Duration(m.HoldMS) * time.Millisecond,
	}
}

// FreezeOf is a freeze of the queue.
func FreezeOf(f queue.Freeze) (freeze rollout.Freeze) {
	if f.Server != queue.EveryServer {
		freeze.Server = f.Server
	}
	if f.Until != nil {
		freeze.Until = *f.Until
	}
	return freeze
}

// Check returns the error in the statement of a set, and in the ids that its members would have.
func Check(set rollout.Set, state rollout.State) error {
	if several(set.Statement) {
		return errors.New("the set has several statements: each member runs one, and no group of tables waits for the other members or has a barrier. " +
			"Write a set for each statement")
	}
	for _, m := range state.Members {
		if err := queue.CheckMember(set.ID, m.Server); err != nil {
			return err
		}
	}
	return nil
}

// several reports whether a text has more than one statement, however its strings are read.
func several(text string) bool {
	more := func(tokens []token.Token, _ bool) bool {
		end := slices.IndexFunc(tokens, func(t token.Token) bool { return t.Is(";") })
		return end >= 0 && slices.ContainsFunc(tokens[end:], func(t token.Token) bool { return !t.Is(";") })
	}
	return more(token.Split(text)) && more(token.SplitNoEscapes(text))
}
