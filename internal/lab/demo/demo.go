package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Table is the table that is changed.
var Table = schema.Name{Schema: "shop", Table: "orders"}

// Options of a demonstration.
type Options struct {
	Rows  int     // seeded
	Alter string  // what follows ALTER TABLE shop.orders
	Rate  float64 // transactions a second of the writers; 0: as fast as they can
}

// Deps are what a demonstration works with.
type Deps struct {
	Server dbconn.Config
	// Change carries out the statement on the server and tells what happens. It returns
	// when the table has its new schema.
	Change func(ctx context.Context, statement string, listen event.Listener) error
	// Tell is told of each step, and how far it has come: 0 to 1.
	Tell func(step Step, fraction float64, text string)
}

// Step is a part of a demonstration.
type Step string

// The steps that are told of.
const (
	StepSeed    Step = "table"
	StepWrite   Step = "writer"
	StepCompare Step = "compare"
)

// Proof is what a demonstration found.
type Proof struct {
	Compared ledger.Proof
	// Altered says that the table's definition is another one than before.
	Altered bool
	Elapsed time.Duration // of the change
	Before  ledger.Stats  // of the writers, shortly before the change
	During  ledger.Stats  // while it ran, and shortly after
	Longest Wait
}

// Good says that everything is as it should be.
func (p *Proof) Good() bool { return p.Altered && p.Compared.Equal() }

// Wait is the longest that a statement of the writers took.
type Wait struct {
	Took  time.Duration
	Kind  string        // update, commit, ...
	Into  time.Duration // since the change began
	Phase event.Phase   // in which the statement began
	After bool          // it began after the change was done
}

// Times for which the writers run before and after the change.
const (
	warmUp   = 3 * time.Second
	wayAfter = time.Second
)

// Run demonstrates. A Proof that is not Good is no error.
func Run(ctx context.Context, o Options, d Deps) (*Proof, error) {
	statement := "ALTER TABLE " + Table.String() + " " + o.Alter
	alter, err := ddl.Parse(statement)
	if err != nil {
		return nil, err
	}
	pool, err := dbconn.Open(ctx, d.Server, applicationVariables)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	book, err := seeded(ctx, pool, o, renamed(alter), d.Tell)
	if err != nil {
		return nil, err
	}
	before, err := schema.Load(ctx, pool.DB(), Table)
	if err != nil {
		return nil, err
	}
	s := &show{ledger: book, deps: d, statement: statement}
	proof, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	after, err := schema.Load(ctx, pool.DB(), Table)
	if err != nil {
		return nil, err
	}
	was, _ := schema.SplitAutoIncrement(before.Create)
	is, _ := schema.SplitAutoIncrement(after.Create)
	proof.Altered = was != is
	return proof, nil
}

// applicationVariables are the server's own defaults, in place of the engine's short
// waits: a writer waits as an application would.
var applicationVariables = map[string]string{"lock_wait_timeout": "31536000", "innodb_lock_wait_timeout": "50"}

// renamed are the columns that the statement gives other names.
func renamed(alter *ddl.Alter) map[string]string {
	names := map[string]string{}
	for _, r := range alter.Renames {
		names[r.Old] = r.New
	}
	return names
}

// seeded makes the table and fills it.
func seeded(
	ctx context.Context,
	pool *dbconn.Pool,
	o Options,
	names map[string]string,
	tell func(Step, float64, string),
) (*ledger.Ledger, error) {
	book, err := ledger.New(pool.DB(), Table.String(), ledger.Orders(), ledger.Options{
		Number: dbconn.Number, Rate: o.Rate, Renamed: names})
	if err != nil {
		return nil, err
	}
	if _, err := pool.DB().ExecContext(ctx, "CREATE DATABASE "+schema.Quote(Table.Schema)); err != nil {
		return nil, fmt.Errorf("create database %s: %w", Table.Schema, err)
	}
	if err := book.Create(ctx); err != nil {
		return nil, err
	}
	started := time.Now()
	err = book.Seed(ctx, o.Rows, func(done int) { tell(StepSeed, 0.95*float64(done)/float64(o.Rows), "") })
	if err != nil {
		return nil, err
	}
	tell(StepSeed, 1, fmt.Sprintf("%.1f s", time.Since(started).Seconds()))
	return book, nil
}

// show is the change while the writers write.
type show struct {
	ledger    *ledger.Ledger
	deps      Deps
	statement string

	mu     sync.Mutex
	phases []event.PhaseEntered
}

func (s *show) run(ctx context.Context) (*Proof, error) {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	if err := s.ledger.Start(writing); err != nil {
		return nil, err
	}
	proof, err := s.change(ctx)
	if failed := s.ledger.Stop(); failed != nil {
		err = errors.Join(fmt.Errorf("the writer failed: %w", failed), err)
	}
	if err != nil {
		return nil, err
	}
	s.deps.Tell(StepCompare, 0, "")
	proof.Compared, err = s.ledger.Compare(ctx)
	s.deps.Tell(StepCompare, 1, "")
	return proof, err
}

// change has the change carried out, and measures what the writers feel of it.
func (s *show) change(ctx context.Context) (*Proof, error) {
	if err := dbconn.Sleep(ctx, warmUp); err != nil {
		return nil, err
	}
	proof := &Proof{Before: s.ledger.Stats()}
	s.deps.Tell(StepWrite, 1, fmt.Sprintf("%.0f transactions/s", proof.Before.TransactionsPerSecond()))
	s.ledger.ResetStats()
	began := time.Now()
	if err := s.deps.Change(ctx, s.statement, s.listen); err != nil {
		return nil, err
	}
	ended := time.Now()
	proof.Elapsed = ended.Sub(began)
	err := dbconn.Sleep(ctx, wayAfter)
	proof.During = s.ledger.Stats()
	proof.Longest = s.longest(proof.During, began, ended)
	return proof, err
}

func (s *show) listen(e event.Event) {
	if p, is := e.(event.PhaseEntered); is {
		s.mu.Lock()
		s.phases = append(s.phases, p)
		s.mu.Unlock()
	}
}

// longest finds the longest statement, and when it was.
func (s *show) longest(stats ledger.Stats, began, ended time.Time) Wait {
	w := Wait{Took: stats.Running, Kind: "statement that still runs", Into: time.Since(began) - stats.Running}
	for _, l := range stats.Longest {
		into := l.Start.Sub(began)
		if into < 0 { // what it waited before the change began is not the change's
			l.Took, into = l.Took+into, 0
		}
		if l.Took > w.Took {
			w = Wait{Took: l.Took, Kind: l.Kind, Into: into}
		}
	}
	start := began.Add(w.Into)
	w.After = start.After(ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Phase = event.PhaseCheck // the child is being started
	for _, p := range s.phases {
		if p.At.Before(start) {
			w.Phase = p.Phase
		}
	}
	return w
}
