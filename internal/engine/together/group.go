package together

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Stage is where the runs of a group meet.
type Stage int

// The stages, in their order.
const (
	Settled Stage = iota
	Planned
	Prepared
	Tried
	Filled
	Rehearsed
	stages
)

// Group is one run for each of several tables. It is safe for concurrent use.
type Group struct {
	tables []schema.Name
	id     string
	// ended counts the runs that have written their result.
	ended atomic.Int32
	// partners are the controls of the runs: when one may swap, all may.
	partners operator.Partners

	mu     sync.Mutex
	passed [stages][]bool
	// changed is closed, and made anew, when a member has passed a stage.
	changed chan struct{}
	// before means that an earlier run of the same group has swapped, and apart is a table that a run has swapped without the others.
	before bool
	apart  *schema.Name
	// shadows are those of the members that have one already, by their sources.
	shadows map[schema.Name]schema.Name
	round   *round // of the swap
	swapped bool
}

// New returns a group of the runs on these tables.
func New(tables []schema.Name) *Group {
	g := &Group{
		tables: tables, id: fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000000Z"), os.Getpid()),
		changed: make(chan struct{}), shadows: map[schema.Name]schema.Name{}, round: newRound(len(tables)),
	}
	for s := range g.passed {
		g.passed[s] = make([]bool, len(tables))
	}
	return g
}

// Member is a run's place in its group. The zero value is a run that is alone.
type Member struct {
	group *Group
	index int
}

// Member returns the place of a run, counted from 0.
func (g *Group) Member(index int) Member { return Member{g, index} }

// Others are the tables of the other runs, in the order of their names; none if the run is alone.
func (m Member) Others() []string {
	var names []string
	if m.group != nil {
		for i, table := range m.group.tables {
			if i != m.index {
				names = append(names, table.Dotted())
			}
		}
	}
	slices.Sort(names)
	return names
}

// Group identifies the group in records; "" for a run that is alone.
func (m Member) Group() string {
	if m.group == nil {
		return ""
	}
	return m.group.id
}

// Last notes that the run has written its result, and reports whether it is the last one of its group. A run that is alone is.
func (m Member) Last() bool {
	return m.group == nil || int(m.group.ended.Add(1)) == len(m.group.tables)
}

// Join has the run obey its control: a command about the time of the swap is one for all runs of the group. REQUIRES: the control is used
// by nobody yet.
func (m Member) Join(c *operator.Control) {
	if m.group != nil {
		m.group.partners.Join(c)
	}
}

// Do does a member's work of a stage: after the members before it, and once it is done, before those behind it.
func (m Member) Do(ctx context.Context, stage Stage, work func(ctx context.Context) error) error {
	if m.group == nil {
		return work(ctx)
	}
	if err := m.group.wait(ctx, func() bool { return !slices.Contains(m.group.passed[stage][:m.index], false) }); err != nil {
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	m.pass(stage, func() {})
	return nil
}

// pass notes that the member has passed a stage, with what it has found there.
func (m Member) pass(stage Stage, note func()) {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	note()
	m.group.passed[stage][m.index] = true
	close(m.group.changed)
	m.group.changed = make(chan struct{})
}

// All waits until every member has passed a stage.
func (m Member) All(ctx context.Context, stage Stage) error {
	if m.group == nil {
		return nil
	}
	return m.group.wait(ctx, func() bool { return !slices.Contains(m.group.passed[stage], false) })
}

// Pass notes that the member has passed a stage, and waits until every member has.
func (m Member) Pass(ctx context.Context, stage Stage) error {
	if m.group != nil {
		m.pass(stage, func() {})
	}
	return m.All(ctx, stage)
}

func (g *Group) wait(ctx context.Context, come func() bool) error {
	for {
		g.mu.Lock()
		done, changed := come(), g.changed
		g.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Brings notes the shadow of the member. Its own table is its source.
func (m Member) Brings(shadow schema.Name) {
	if m.group != nil {
		m.group.mu.Lock()
		defer m.group.mu.Unlock()
		m.group.shadows[m.group.tables[m.index]] = shadow
	}
}

// Shadows are those of the other members, by their sources. REQUIRES: all members have passed Prepared.
func (m Member) Shadows() map[schema.Name]schema.Name {
	if m.group == nil {
		return nil
	}
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	others := maps.Clone(m.group.shadows)
	delete(others, m.group.tables[m.index])
	return others
}

// Settle takes whether an earlier run has swapped this member's table by the same change, and with which tables. It waits for all
// members. done means that the table is swapped: if an earlier run of the group has swapped one table, it has swapped all of them.
// It fails with a *plan.Refused if a table was swapped without the others.
func (m Member) Settle(ctx context.Context, swapped bool, with []string) (done bool, err error) {
	if m.group == nil {
		return swapped, nil
	}
	g := m.group
	m.pass(Settled, func() {
		switch {
		case swapped && slices.Equal(with, m.Others()):
			g.before = true
		case swapped:
			g.apart = &g.tables[m.index]
		}
	})
	if err = m.All(ctx, Settled); err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.apart != nil {
		return false, &plan.Refused{Table: g.apart.String(), Blocking: []plan.Risk{{Code: plan.CodeTogether, Blocking: true,
			What: fmt.Sprintf("an earlier run has changed %s without the others", *g.apart), Fix: "Change the other tables without it"}}}
	}
	return g.before, nil
}

// Ended is why a run ends: another run of its group has ended before the swap.
type Ended struct {
	Table schema.Name
	Err   error
}

func (e *Ended) Error() string {
	return fmt.Sprintf("the change of %s has ended, which was to be swapped together with this one", e.Table)
}

// Unwrap is the error of the other run.
func (e *Ended) Unwrap() error { return e.Err }

// Run does the work of each member side by side, and returns their errors. An error before the swap ends the others: each of them has an
// Ended among its errors.
func (g *Group) Run(ctx context.Context, work func(ctx context.Context, index int) error) []error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	errs := make([]error, len(g.tables))
	var all sync.WaitGroup
	for i := range g.tables {
		all.Go(func() {
			err := work(ctx, i)
			if err != nil && !g.hasSwapped() {
				err = g.blame(ctx, end, i, err)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errs
}

// blame ends the others because of the error of a member, and returns the error with what has ended the member, if that was another one.
// The first one counts. A member that the swap has ended blames another one already, which may write its own error later.
func (g *Group) blame(ctx context.Context, end context.CancelCauseFunc, i int, err error) error {
	var ended, has *Ended
	if errors.As(err, &has) {
		end(has)
		return err
	}
	end(&Ended{g.tables[i], err})
	if errors.As(context.Cause(ctx), &ended) && ended.Table != g.tables[i] {
		err = errors.Join(err, ended) // such as "context canceled"
	}
	return err
}

func (g *Group) hasSwapped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.swapped
}
