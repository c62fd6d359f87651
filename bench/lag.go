package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// loadReplicated is the load of lag: 20 % of the peak, so that the slowed replica keeps up.
const loadReplicated = "replicated"

// A replica gets the processor for a part of the time. Signals stop and continue it, in slices that
// are short compared with what is measured.
const (
	slice   = 20 * time.Millisecond
	running = 8 * time.Millisecond // of each slice
)

// noSuchTable is the server's ER_NO_SUCH_TABLE.
const noSuchTable = 1146

// lagBound is --max-replica-lag's default.
const lagBound = time.Second

// Lag is how far a replica was behind, by heartbeats of the bench, which writes and reads them 50
// times in a second.
type Lag struct {
	WorstS  float64 `json:"worst_s"`
	MedianS float64 `json:"median_s"`
	BeforeS float64 `json:"before_s"` // the worst before the tool
}

// lag measures how far a slow replica is behind while midstream is at work, with its bound and
// without.
func (b *bench) lag(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	if f.PeakTPS, err = b.peak(ctx); err != nil {
		return err
	}
	tools := map[string]tool{
		toolMidstream: midstreamTool(b.midstream, b.gentle(), nil),
		toolUnbounded: midstreamTool(b.midstream, append(b.unverified(), "--max-replica-lag=0"), nil),
	}
	for round := range b.rounds {
		for _, name := range rotate([]string{toolMidstream, toolUnbounded}, round) {
			r, err := b.lagRun(ctx, scene{tool: name, load: loadReplicated, rate: 0.2 * f.PeakTPS, round: round}, tools[name])
			if err != nil {
				return fmt.Errorf("lag, %s: %w", name, err)
			}
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measureLag, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// toolUnbounded is midstream without any throttle.
const toolUnbounded = "midstream-unbounded"

func (b *bench) lagRun(ctx context.Context, at scene, change tool) (r Run, err error) {
	source, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, source.discard()) }()
	replica, err := b.base.startAs(ctx, "replica", map[string]string{"server_id": "2", "skip_replica_start": "", "report_host": "127.0.0.1",
		"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, replica.discard()) }()
	if err := replica.follow(ctx, source); err != nil {
		return r, err
	}
	slowed := slow(replica.db.PID())
	defer slowed()
	watched := watchLag(ctx, source, replica)
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: b.base.rows}
	foreground, err := startLoad(ctx, b.programs.sysbench, source, b.options, at.rate)
	if err != nil {
		return r, errors.Join(err, watched.stop())
	}
	if err = pause(ctx, b.lead); err == nil {
		err = b.observeFor(ctx, b.besideWindow, source, foreground, &r, change)
	}
	to := time.Now()
	_, _, stopErr := foreground.stop()
	if err = errors.Join(err, stopErr, watched.stop()); err != nil {
		return r, err
	}
	lag := watched.between(r.At, to)
	r.Lag = &lag
	if r.Copied, err = source.copied(ctx, r.Finished, b.base.rows); err != nil {
		return r, err
	}
	b.say(
		"round %d  %-20s %5.1f s, %8d rows copied, the replica was at most %.2f s behind (%.2f s without the tool)",
		r.Round+1, r.Tool, r.ElapsedS, r.Copied, lag.WorstS, lag.BeforeS,
	)
	return r, nil
}

// follow makes the server a replica of a server that has the same data and does nothing yet.
func (s *server) follow(ctx context.Context, source *server) error {
	var file string
	var position uint64
	var ignored [3]any
	err := source.sql.QueryRowContext(ctx, "SHOW BINARY LOG STATUS").Scan(&file, &position, &ignored[0], &ignored[1], &ignored[2])
	if err != nil {
		return fmt.Errorf("ask for the source's position: %w", err)
	}
	for _, statement := range []string{
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, SOURCE_USER = '%s', SOURCE_LOG_FILE = '%s', SOURCE_LOG_POS = %d, GET_SOURCE_PUBLIC_KEY = 1",
			source.db.Port, source.db.User, file, position),
		"START REPLICA",
	} {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// slow stops and continues a process in turns, until the returned function is called.
func slow(pid int) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			time.Sleep(slice - running)
			_ = syscall.Kill(pid, syscall.SIGCONT)
			select {
			case <-stop:
				return
			case <-time.After(running):
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-done
	})
}

// lagWatch writes heartbeats of its own and reads them on the replica.
type lagWatch struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// at is when a heartbeat was read, took is how old it was.
	seen   []probe
	failed error
}

func watchLag(ctx context.Context, source, replica *server) *lagWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &lagWatch{cancel: cancel}
	err := source.exec(ctx, "CREATE TABLE "+database+".lag_of_the_bench (id INT PRIMARY KEY, at_us BIGINT NOT NULL)")
	if err == nil {
		err = source.exec(ctx, "INSERT INTO "+database+".lag_of_the_bench VALUES (1, 0)")
	}
	w.failed = err
	every := func(work func() error) {
		w.group.Go(func() {
			for ctx.Err() == nil && pause(ctx, 20*time.Millisecond) == nil {
				if err := work(); err != nil && ctx.Err() == nil {
					w.mu.Lock()
					w.failed = errors.Join(w.failed, err)
					w.mu.Unlock()
					return
				}
			}
		})
	}
	every(func() error {
		return source.exec(ctx, fmt.Sprintf("UPDATE %s.lag_of_the_bench SET at_us = %d", database, time.Now().UnixMicro()))
	})
	every(func() error {
		var at int64
		now := time.Now() // the answer may take its time
		err := replica.sql.QueryRowContext(ctx, "SELECT at_us FROM "+database+".lag_of_the_bench").Scan(&at)
		var refused *mysql.MySQLError
		if errors.Is(err, sql.ErrNoRows) || errors.As(err, &refused) && refused.Number == noSuchTable || err == nil && at == 0 {
			return nil // it has not arrived yet
		}
		if err == nil {
			w.mu.Lock()
			w.seen = append(w.seen, probe{at: now, took: now.Sub(time.UnixMicro(at))})
			w.mu.Unlock()
		}
		return err
	})
	return w
}

func (w *lagWatch) stop() error {
	w.cancel()
	w.group.Wait()
	return w.failed
}

// between returns how far the replica was behind.
func (w *lagWatch) between(from, to time.Time) Lag {
	var before, lags []float64
	for _, p := range w.seen {
		switch {
		case p.at.Before(from):
			before = append(before, p.took.Seconds())
		case p.at.Before(to):
			lags = append(lags, p.took.Seconds())
		}
	}
	return Lag{WorstS: highest(lags), MedianS: median(lags), BeforeS: highest(before)}
}

func worstLag(r Run) float64 {
	if r.Lag == nil {
		return math.NaN()
	}
	return r.Lag.WorstS
}

func lagVerdict(f *File) verdict {
	return atMost(
		"a slow replica, maximal lag",
		highest(collect(f.of(toolMidstream, loadReplicated), worstLag)), lagBound.Seconds(), "%.2f s",
	).
		noted(
			"without limits %s", number(highest(collect(f.of(toolUnbounded, loadReplicated), worstLag)), "%.2f s"),
		)
}

func (p *page) lag(f *File) {
	if f == nil {
		return
	}
	p.line("## A slow replica\n")
	p.line(
		"A replica that has the processor for %.0f %% of the time, in slices of %s; the application writes at 20 %% of the peak. Lag is measured by the bench.\n",
		100*running.Seconds()/slice.Seconds(), slice,
	)
	p.head("tool", "rows copied/s", "maximal lag s", "median lag s", "maximal lag before the tool s")
	for _, tool := range []string{toolMidstream, toolUnbounded} {
		runs := f.of(tool, loadReplicated)
		if len(runs) == 0 {
			continue
		}
		p.row(
			tool,
			spread(collect(runs, func(r Run) float64 { return ratio(float64(r.Copied), r.ElapsedS) }), "%.0f"),
			spread(collect(runs, worstLag), "%.2f"),
			spread(
				collect(runs, func(r Run) float64 { return r.Lag.MedianS }), "%.2f",
			),
			spread(collect(runs, func(r Run) float64 { return r.Lag.BeforeS }), "%.2f"),
		)
	}
	p.line("")
	p.troubles(f.Runs)
}
