package together

import (
	"context"
	"errors"
	"sync"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Part is what a run does about the swap of its table.
type Part struct {
	Table schema.Name
	Pool  *dbconn.Pool
	Turn  lock.Turn
	lock.Lookout
	Terms  func() lock.Terms
	Budget func() cutover.Budget
	// Begin makes the run ready for an attempt: nothing is applied until End, which takes what has become of it. End returns the error
	// of the attempt, or one of its own.
	Begin func() cutover.Part
	// Withdraw takes back what a failed attempt has left of foreign keys and triggers, before End of any run: with a foreign key between
	// two shadows, a sync of a parent takes the rows of its children along.
	Withdraw func(ctx context.Context) error
	End      func(ctx context.Context, report cutover.Report, err error) error
	// Again reports whether another attempt may follow an error of an attempt.
	Again func(error) bool
	// Meanwhile does what is due while the run waits for the others. It is called again and again.
	Meanwhile func(ctx context.Context) error
	Emit      event.Listener
	// Rehearses means that the attempt is a rehearsal: the run still has to end as those of the others do.
	Rehearses bool
}

// Try is cutover.Attempt, or cutover.Rehearse.
type Try func(context.Context, []cutover.Part, cutover.Budget) ([]cutover.Report, error)

// Swap waits until every member is ready for the swap, and makes attempts until one succeeds. last is the outcome of the last one.
func (m Member) Swap(ctx context.Context, try Try, part Part) (done event.SwapDone, last lock.Outcome, err error) {
	if m.group == nil {
		m = New([]schema.Name{part.Table}).Member(0)
	}
	r, complete := m.group.arrive(ctx, m.index, part)
	if complete {
		r.swap(ctx, try)
		m.group.swapEnded(r)
		close(r.done)
	} else if err := r.await(ctx, m.index); err != nil {
		return event.SwapDone{}, lock.Outcome{}, err
	}
	return r.result(m.index)
}

func (g *Group) arrive(ctx context.Context, index int, part Part) (r *round, complete bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.round, g.round.arrive(ctx, index, part)
}

// swapEnded notes the end of a round. After an error each run ends, or tries again: it meets the others in the next round.
func (g *Group) swapEnded(r *round) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.err == nil && !r.members[0].Rehearses {
		g.swapped = true
	}
	g.round = newRound(len(g.tables))
}

// round is the way of a group to one swap.
type round struct {
	mu      sync.Mutex
	members []*waiting // nil for those who have not come yet
	begun   bool       // no member may leave any more
	// done is closed at the end; the fields below are set then.
	done     chan struct{}
	attempts int
	last     lock.Outcome
	reports  []cutover.Report
	at       time.Time
	err      error
}

// waiting is a member that has come.
type waiting struct {
	Part
	ctx context.Context
	// busy is held while the member does what is due meanwhile.
	busy sync.Mutex
}

func newRound(size int) *round {
	return &round{members: make([]*waiting, size), done: make(chan struct{})}
}

// arrive adds a member. complete means that it is the last one: then the round has begun.
func (r *round) arrive(ctx context.Context, index int, part Part) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[index] = &waiting{Part: part, ctx: ctx}
	for _, m := range r.members {
		if m == nil {
			return false
		}
	}
	r.begun = true
	return true
}

// leave takes a member out, unless the swap has begun.
func (r *round) leave(index int) (left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.members[index] = nil
	}
	return !r.begun
}

// meanwhileEvery is the time between two looks for what is due meanwhile.
const meanwhileEvery = time.Second

// await waits for the end of the round.
func (r *round) await(ctx context.Context, index int) error {
	m := r.members[index]
	for {
		select {
		case <-r.done:
			return nil
		case <-ctx.Done():
			if r.leave(index) {
				return context.Cause(ctx)
			}
			<-r.done // whoever swaps ends soon: it has the end of this context too
			return nil
		case <-time.After(meanwhileEvery):
		}
		m.busy.Lock()
		var err error
		if !r.hasBegun() {
			err = m.Meanwhile(ctx)
		}
		m.busy.Unlock()
		if err != nil && r.leave(index) {
			return err
		}
	}
}

func (r *round) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// blamed is a member whose own end has ended a round.
type blamed struct {
	index int
	error
}

func (b *blamed) Unwrap() error { return b.error }

// swap makes the attempts. REQUIRES: the round has begun.
func (r *round) swap(ctx context.Context, try Try) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx)) // a member's end is known as that
	defer end(nil)
	turns := make(turns, len(r.members))
	for i, m := range r.members {
		m.busy.Lock()
		defer m.busy.Unlock()
		defer context.AfterFunc(m.ctx, func() { end(&blamed{i, context.Cause(m.ctx)}) })()
		turns[i] = m
	}
	asker := lock.Asker{Pool: r.members[0].Pool, Lookout: r, Terms: r.terms, Turn: turns, Emit: r.emit, For: "cut over"}
	r.attempts, r.last, r.err = asker.Run(ctx, func(ctx context.Context, _ time.Duration) (lock.Outcome, error) {
		return r.attempt(ctx, try)
	})
	r.at = time.Now()
	var by *blamed
	if r.err != nil && !errors.Is(r.err, cutover.ErrUnknown) && errors.As(context.Cause(ctx), &by) {
		r.err = by
	}
}

// terms are those of all members: the narrowest bounds, and the kills of the first one that has any.
func (r *round) terms() lock.Terms {
	terms := r.members[0].Terms()
	for _, m := range r.members[1:] {
		t := m.Terms()
		terms.Wait, terms.Backoff = min(terms.Wait, t.Wait), max(terms.Backoff, t.Backoff)
		terms.GiveUp, terms.Most = least(terms.GiveUp, t.GiveUp), least(terms.Most, t.Most)
		if terms.Kills.After <= 0 {
			terms.Kills = t.Kills
		}
	}
	return terms
}

// budget is the narrowest one of the members.
func (r *round) budget() cutover.Budget {
	budget := r.members[0].Budget().WithDefaults()
	for _, m := range r.members[1:] {
		other := m.Budget().WithDefaults()
		budget.Wait, budget.Work = min(budget.Wait, other.Wait), min(budget.Work, other.Work)
	}
	return budget
}

// least is the lower one of two bounds, of which 0 is none.
func least[T int | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// attempt makes one attempt.
func (r *round) attempt(ctx context.Context, try Try) (asked lock.Outcome, err error) {
	began := time.Now()
	parts := make([]cutover.Part, len(r.members))
	for i, m := range r.members {
		parts[i] = m.Begin()
	}
	r.reports, err = try(ctx, parts, r.budget())
	if err != nil && !errors.Is(err, cutover.ErrUnknown) {
		for _, m := range r.members {
			if left := m.Withdraw(ctx); left != nil {
				err = errors.Join(err, left)
			}
		}
	}
	var failed error
	for i, m := range r.members {
		if ended := m.End(ctx, r.reports[i], err); ended != nil && !errors.Is(ended, err) {
			failed = errors.Join(failed, ended)
		} else if ended != nil && failed == nil {
			failed = ended
		}
	}
	asked = lock.Outcome{Granted: r.reports[0].Granted, Waited: r.reports[0].Waited, Took: time.Since(began)}
	if failed != nil && r.members[0].Again(failed) {
		asked.Undone, failed = failed, nil
	}
	return asked, failed
}

// result is what the round has made of a member. REQUIRES: the round has ended.
func (r *round) result(index int) (event.SwapDone, lock.Outcome, error) {
	var by *blamed
	err := r.err
	switch {
	case errors.As(err, &by) && by.index == index:
		err = by.error
	case by != nil:
		err = &Ended{r.members[by.index].Table, by.error}
	}
	if err != nil {
		return event.SwapDone{Attempts: r.attempts}, r.last, err
	}
	report := r.reports[index]
	return event.SwapDone{LockHeld: report.Held, Drained: report.Drained, Attempts: r.attempts, At: r.at}, r.last, nil
}

// Blockers are those of all tables.
func (r *round) Blockers(ctx context.Context, longer time.Duration) (all []event.Blocker, err error) {
	for _, m := range r.members {
		blockers, err := m.Blockers(ctx, longer)
		if err != nil {
			return nil, err
		}
		all = append(all, blockers...)
	}
	return all, nil
}

func (r *round) emit(e event.Event) {
	for _, m := range r.members {
		m.Emit(e)
	}
}
