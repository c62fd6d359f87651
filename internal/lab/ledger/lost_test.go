package ledger

import (
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestConnectionsCut cuts connections so that answers get lost on their way: the server
// may have committed, and may even be still at it.
func TestConnectionsCut(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		_, name := mysqltest.Database(t, s)
		cutter := newCutter(t, s.Address)
		config := s.Config("")
		config.Addr = cutter.listener.Addr().String()
		db, err := sql.Open("mysql", config.FormatDSN())
		must(t, err)
		t.Cleanup(func() { db.Close() })
		mix := DefaultMix()
		mix[OpXA] = 10
		l := seeded(t, db, name, ThreeUnique(), 1000, Options{Writers: 6, Mix: mix, HotShare: 30})
		go cutter.cutAtRandom(10 * time.Millisecond)
		must(t, l.Start(t.Context()))
		await(t, l, 2*short, func(s Stats) bool { return s.Lost > 5 })
		cutter.stop()
		stopAndCompare(t, l)
	})
}

// TestConnectionsKilled kills sessions and statements of the writers.
func TestConnectionsKilled(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		l := setup(t, s, Orders(), 1000, Options{Writers: 6, HotShare: 30})
		must(t, l.Start(t.Context()))
		k := killer{l: l, db: s.Open(t, ""), sessions: map[int]bool{}}
		await(t, l, 2*short, func(s Stats) bool {
			k.kill(t, 20)
			return s.Lost > 5 && s.Errors[errQueryInterrupted] > 5
		})
		stopAndCompare(t, l)
	})
}

// killer kills sessions that it has seen at the ledger's table, whatever they are at now.
type killer struct {
	l        *Ledger
	db       *sql.DB
	sessions map[int]bool
}

func (k *killer) kill(t *testing.T, times int) {
	t.Helper()
	for range times {
		for _, id := range sessionsOf(t, k.db, k.l.table) {
			k.sessions[id] = true
		}
		for id := range k.sessions {
			verb := []string{"KILL", "KILL QUERY", "KILL QUERY"}[rand.IntN(3)]
			if _, err := k.db.Exec(fmt.Sprint(verb, " ", id)); err != nil {
				delete(k.sessions, id) // it is gone
			}
			break
		}
	}
}

// TestServerKilled kills the server and starts it again. The session numbers begin anew
// then; whatever was committed is there.
func TestServerKilled(t *testing.T) {
	s := mysqltest.Own(t, "9.7", sandbox.Options{})
	mix := DefaultMix()
	mix[OpXA] = 10
	l := setup(t, s, ThreeUnique(), 1000, Options{Writers: 6, Mix: mix})
	must(t, l.Start(t.Context()))
	time.Sleep(2 * short)
	must(t, s.Sandbox.Kill())
	time.Sleep(short / 5)
	must(t, s.Sandbox.Restart(t.Context()))
	l.ResetStats()
	await(t, l, 2*short, func(s Stats) bool { return s.Transactions > 100 })
	stopAndCompare(t, l)
}

// sessionsOf lists sessions whose statement names the table.
func sessionsOf(t *testing.T, db *sql.DB, table string) (ids []int) {
	t.Helper()
	// Not information_schema.processlist: it fails (3854) over statements with emoji.
	rows, err := db.Query("SHOW PROCESSLIST")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var id int
		var rest [6]any
		var info sql.NullString
		must(t, rows.Scan(&id, &rest[0], &rest[1], &rest[2], &rest[3], &rest[4], &rest[5], &info))
		if strings.Contains(info.String, quoteTable(table)) {
			ids = append(ids, id)
		}
	}
	must(t, rows.Err())
	return ids
}

// cutter passes connections on to a server and cuts them.
type cutter struct {
	listener net.Listener
	server   string
	done     chan struct{}
	once     sync.Once
	all      sync.WaitGroup

	mu    sync.Mutex
	pairs map[net.Conn]net.Conn
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cutter{listener: listener, server: server, done: make(chan struct{}), pairs: map[net.Conn]net.Conn{}}
	c.all.Go(c.serve)
	t.Cleanup(func() {
		c.stop()
		listener.Close()
		c.mu.Lock()
		for client, server := range c.pairs {
			client.Close()
			server.Close()
		}
		c.mu.Unlock()
		c.all.Wait()
	})
	return c
}

func (c *cutter) stop() { c.once.Do(func() { close(c.done) }) }

func (c *cutter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			client.Close()
			continue
		}
		c.mu.Lock()
		c.pairs[client] = server
		c.mu.Unlock()
		for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
			c.all.Go(func() {
				_, _ = io.Copy(to, from)
				to.Close()
				c.mu.Lock()
				delete(c.pairs, client)
				c.mu.Unlock()
			})
		}
	}
}

// cutAtRandom cuts one connection after the other, on the client's side only: the
// server goes on with what it has been sent.
func (c *cutter) cutAtRandom(every time.Duration) {
	for {
		select {
		case <-c.done:
			return
		case <-time.After(every):
		}
		c.mu.Lock()
		for client := range c.pairs {
			client.Close()
			break
		}
		c.mu.Unlock()
	}
}
