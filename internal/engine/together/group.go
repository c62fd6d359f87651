package together

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"midstream/internal/mysql/schema"
)

// Stage is where the runs of a group meet.
type Stage int

// The stages, in their order.
const (
	Planned Stage = iota
	Prepared
	Filled
	stages
)

// Group is one run for each of several tables. It is safe for concurrent use.
type Group struct {
	tables []schema.Name

	mu     sync.Mutex
	passed [stages][]bool
	// changed is closed, and made anew, when a member has passed a stage.
	changed chan struct{}
	round   *round // of the swap
	swapped bool
}

// New returns a group of the runs on these tables.
func New(tables []schema.Name) *Group {
	g := &Group{tables: tables, changed: make(chan struct{}), round: newRound(len(tables))}
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
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	m.group.passed[stage][m.index] = true
	close(m.group.changed)
	m.group.changed = make(chan struct{})
	return nil
}

// All waits until every member has passed a stage.
func (m Member) All(ctx context.Context, stage Stage) error {
	if m.group == nil {
		return nil
	}
	return m.group.wait(ctx, func() bool { return !slices.Contains(m.group.passed[stage], false) })
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

// Run does the work of each member side by side, and returns their errors. An error before the swap ends the others.
func (g *Group) Run(ctx context.Context, work func(ctx context.Context, index int) error) []error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	errs := make([]error, len(g.tables))
	var all sync.WaitGroup
	for i := range g.tables {
		all.Go(func() {
			errs[i] = work(ctx, i)
			if errs[i] != nil && !g.hasSwapped() {
				end(&Ended{g.tables[i], errs[i]})
			}
		})
	}
	all.Wait()
	return errs
}

func (g *Group) hasSwapped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.swapped
}
