package undos

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
)

const (
	// every is the time between two rounds at a server. A round takes at most a part of the time: one share-th.
	every = 3 * time.Second
	share = 20
	// retry is the time after a round in which the server could not be reached.
	retry = 10 * time.Second
	// patience bounds the questions about one table, with the connection.
	patience = 5 * time.Second
	// fresh is how long an answer holds if the server gives no other one.
	fresh = 30 * time.Second
)

// Standing is how the undo of the last change of a table stands.
type Standing struct {
	// Asked is when the server has answered last; zero: not yet.
	Asked time.Time
	// Fault is why it has not answered since; nil if it has.
	Fault error
	// Kept is what the server has for the undo; nil: nothing.
	Kept *leftovers.Undoable
	// Lost are the columns whose values an undo gives up.
	Lost []string
	// Later are the clauses of later changes, which an undo takes back too.
	Later []string
	// Unfilled is what an undo lacks for rows that are new since the swap.
	Unfilled plan.Filling
	// Follower is the warm undo; nil: none runs here.
	Follower *followers.Standing
}

// Known reports whether the standing still holds.
func (s Standing) Known(now time.Time) bool { return s.Fault == nil || now.Sub(s.Asked) < fresh }

// Board knows how the undos of tables stand. It is safe for concurrent use.
type Board struct {
	sockets string
	fresh   chan struct{} // holds one word that there may be a new server

	mu      sync.Mutex
	servers map[string]*asked
	known   map[string]Standing
}

// asked is a server that is asked.
type asked struct {
	config dbconn.Config
	left   bool // it is not asked now
	begun  bool
	wake   chan struct{}
}

// errLeft is why a server is not asked.
var errLeft = errors.New("the server is no longer one of this service")

// New returns a board for servers by their names. sockets is the folder of the sockets of followers.
func New(servers map[string]dbconn.Config, sockets string) *Board {
	b := &Board{sockets: sockets, fresh: make(chan struct{}, 1), servers: map[string]*asked{}, known: map[string]Standing{}}
	b.Set(servers)
	return b
}

// Set has other servers from now on. Those that are no longer there are not asked, and what is known of them gets old.
func (b *Board) Set(servers map[string]dbconn.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, config := range servers {
		if b.servers[name] == nil {
			b.servers[name] = &asked{wake: make(chan struct{}, 1)}
		}
		b.servers[name].config, b.servers[name].left = config, false
		say(b.servers[name].wake)
	}
	for name, one := range b.servers {
		if _, stays := servers[name]; !stays {
			one.left = true
		}
	}
	for key, standing := range b.known {
		if name, _, _ := strings.Cut(key, "\x00"); b.servers[name].left {
			standing.Fault = errLeft
			b.known[key] = standing
		}
	}
	say(b.fresh)
}

// say leaves a word, unless one is there.
func say(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Of returns how the undo of a table stands.
func (b *Board) Of(server string, table schema.Name) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[keyOf(server, table)]
}

// Hurry has the board ask a server now. It does not wait.
func (b *Board) Hurry(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.servers[server]; one != nil {
		say(one.wake)
	}
}

// Run asks the servers until ctx ends. wanted returns the tables to ask a server about.
func (b *Board) Run(ctx context.Context, wanted func(server string) []schema.Name) {
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		b.mu.Lock()
		for name, one := range b.servers {
			if !one.begun {
				one.begun = true
				asking.Go(func() { b.keepAsking(ctx, name, one, wanted) })
			}
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-b.fresh:
		}
	}
}

// keepAsking asks one server until ctx ends.
func (b *Board) keepAsking(ctx context.Context, name string, one *asked, wanted func(server string) []schema.Name) {
	for {
		b.mu.Lock()
		config, left := one.config, one.left
		b.mu.Unlock()
		began, pause := time.Now(), retry
		if left || b.round(ctx, name, config, wanted(name)) {
			pause = max(every, share*time.Since(began))
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-wait.C:
		case <-one.wake:
		}
		if wait.Stop(); ctx.Err() != nil {
			return
		}
	}
}

// round asks one server about tables, and reports whether it has answered.
func (b *Board) round(ctx context.Context, server string, config dbconn.Config, tables []schema.Name) bool {
	if len(tables) == 0 {
		return true
	}
	opening, cancel := context.WithTimeout(ctx, patience)
	pool, err := dbconn.Open(opening, config, nil)
	cancel()
	var at planning.Server
	if err == nil {
		defer pool.Close()
		at, err = planning.ServerAt(ctx, config, pool)
	}
	for _, table := range tables {
		now := Standing{Fault: err}
		if err == nil {
			now = b.ask(ctx, at, table)
		}
		if ctx.Err() != nil {
			return false
		}
		b.mu.Lock()
		if b.servers[server].left {
			now.Fault = errLeft
		}
		key := keyOf(server, table)
		if now.Fault != nil {
			before := b.known[key]
			before.Fault = now.Fault
			now = before
		}
		b.known[key] = now
		b.mu.Unlock()
	}
	return err == nil
}

// ask asks about one table.
func (b *Board) ask(ctx context.Context, at planning.Server, table schema.Name) (s Standing) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := leftovers.Undoables(ctx, at.Pool, &table)
	s.Asked = time.Now()
	if err != nil {
		s.Fault = err
		return s
	}
	if len(all) == 0 {
		return s
	}
	now, err := describe(ctx, at, b.sockets, all[0])
	now.Asked, now.Fault = s.Asked, err
	return now
}

func keyOf(server string, table schema.Name) string { return server + "\x00" + table.Dotted() }
