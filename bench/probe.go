package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// probers is the default number of connections that probe. They take turns, so that a stall is
// noticed after options.probeEvery.
const probers = 4

// probePatience is how long a statement may stall after the end of a run.
const probePatience = 30 * time.Second

// Probe is what single statements by primary key took during a window.
type Probe struct {
	Statements int     `json:"statements"`
	P99MS      float64 `json:"p99_ms"`
	LongestMS  float64 `json:"longest_ms"`
	Errors     int     `json:"errors"`
	FirstError string  `json:"first_error,omitempty"`
}

// probe is one statement.
type probe struct {
	at   time.Time
	took time.Duration
	err  error
}

// prober reads and writes single rows at a steady pace and records how long each statement took:
// one SELECT by primary key every probeEvery, and an UPDATE in place of every eighth. That leaves
// an idle server idle. The pace does not slow down with the server, as long as one of the
// connections is free.
type prober struct {
	db      *sql.DB
	stopped chan struct{}
	giveUp  context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	probes  []probe
}

func startProber(s *server, o options, connections int) *prober {
	// Not the caller's context: a stalled statement may finish, because its duration is the
	// measurement.
	ctx, giveUp := context.WithCancel(context.Background())
	p := &prober{db: s.sql, stopped: make(chan struct{}), giveUp: giveUp}
	for number := range connections {
		p.group.Go(func() { p.work(ctx, number, connections, o.probeEvery, o.rows) })
	}
	return p
}

func (p *prober) work(ctx context.Context, number, connections int, every time.Duration, rows int) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		p.keep(probe{at: time.Now(), err: err})
		return
	}
	defer conn.Close()
	random := rand.New(rand.NewPCG(1, uint64(number)))
	timer := time.NewTimer(time.Duration(number) * every)
	defer timer.Stop()
	for n := number; ; n++ {
		select {
		case <-p.stopped:
			return
		case <-timer.C:
		}
		statement := "SELECT c FROM %s WHERE id = %d"
		if n%8 == 7 {
			statement = "UPDATE %s SET k = k + 1 WHERE id = %d"
		}
		statement = fmt.Sprintf(statement, table, 1+random.IntN(rows))
		at := time.Now()
		if n%8 == 7 {
			_, err = conn.ExecContext(ctx, statement)
		} else {
			var c string
			if err = conn.QueryRowContext(ctx, statement).Scan(&c); err == sql.ErrNoRows {
				// sysbench has deleted the row, and inserts it again.
				err = nil
			}
		}
		took := time.Since(at)
		p.keep(probe{at, took, err})
		timer.Reset(max(time.Duration(connections)*every-took, 0))
	}
}

func (p *prober) keep(one probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes = append(p.probes, one)
}

// stop ends the prober and returns what it measured between two moments.
func (p *prober) stop(from, to time.Time) Probe {
	close(p.stopped)
	patience := time.AfterFunc(probePatience, p.giveUp)
	p.group.Wait()
	patience.Stop()
	p.giveUp()
	var summary Probe
	var waits []float64
	for _, one := range p.probes {
		if !one.at.Before(to) || !one.at.Add(one.took).After(from) {
			continue
		}
		summary.Statements++
		waits = append(waits, one.took.Seconds()*1e3)
		if one.err != nil {
			summary.Errors++
			if summary.FirstError == "" {
				summary.FirstError = one.err.Error()
			}
		}
	}
	if len(waits) > 0 {
		summary.P99MS, summary.LongestMS = percentile(waits, 99), highest(waits)
	}
	return summary
}
