package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways to take a change back that undo measures.
const (
	undoLazy  = "lazy"
	undoWarm  = "warm"
	undoCold  = "cold"
	undoGhost = toolGhost
)

func undoWays() []string { return []string{undoLazy, undoWarm, undoCold, undoGhost} }

// UndoRun is one change that was taken back, next to an application.
type UndoRun struct {
	Way     string    `json:"way"`
	Round   int       `json:"round"`
	Rows    int       `json:"rows"`
	At      time.Time `json:"at"`
	RateTPS float64   `json:"rate_tps"`
	// SinceS is the time from the swap to the undo, with the application at work; BinlogBytes came in it.
	SinceS      float64 `json:"since_s"`
	BinlogBytes int64   `json:"binlog_bytes"`
	// ElapsedS is from the command to its end.
	ElapsedS   float64 `json:"elapsed_s"`
	LockHeldMS float64 `json:"lock_held_ms,omitempty"`
	// LongestMS is the application's longest transaction during the undo.
	LongestMS   float64 `json:"longest_ms"`
	LoadAverage string  `json:"load_average"` // before the undo
	Error       string  `json:"error,omitempty"`
}

// undo measures how fast a lazy undo reads the binlog, and how long each way takes after a time of load.
func (b *bench) undo(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	if p := b.programs.built[toolGhost]; p != nil {
		f.Programs[toolGhost] = p.version
	}
	for round := range b.rounds {
		if err := b.undoReads(ctx, f, round); err != nil {
			return fmt.Errorf("undo, read: %w", err)
		}
		for _, way := range rotate(slices.Clone(b.undoWays), round) {
			if way == undoGhost && b.programs.built[toolGhost] == nil {
				continue
			}
			r, err := b.undoRun(ctx, way, round)
			if err != nil {
				return fmt.Errorf("undo, %s: %w", way, err)
			}
			b.say("round %d  %-7s %6.2f s after %.0f s with %.0f transactions/s (%.0f MB of binlog), the lock for %.0f ms, longest transaction %.0f ms %s",
				round+1, r.Way, r.ElapsedS, r.SinceS, r.RateTPS, float64(r.BinlogBytes)/1e6, r.LockHeldMS, r.LongestMS, r.Error)
			f.Undos = append(f.Undos, r)
			if err := b.results.save(measureUndo, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// undoRun changes the table, lets the application work for a time, and takes the change back while it goes on.
func (b *bench) undoRun(ctx context.Context, way string, round int) (r UndoRun, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = UndoRun{Way: way, Round: round, Rows: b.base.rows, RateTPS: b.undoRate}
	if err := b.undoChange(ctx, s, way); err != nil {
		return r, err
	}
	before, err := s.binlogBytes(ctx)
	if err != nil {
		return r, err
	}
	swapped := time.Now()
	foreground, err := startLoad(ctx, b.programs.sysbench, s, b.options, r.RateTPS)
	if err != nil {
		return r, err
	}
	defer func() { _, _, stopErr := foreground.stop(); err = errors.Join(err, stopErr) }()
	undo := b.undoCommand(s, way)
	if way == undoWarm {
		if undo, err = b.warmCommand(ctx, s); err != nil {
			return r, err
		}
	}
	if err := pause(ctx, b.undoFor); err != nil {
		return r, err
	}
	after, err := s.binlogBytes(ctx)
	if err != nil {
		return r, err
	}
	r.BinlogBytes, r.LoadAverage = after-before, loadAverage()
	from, to, output, failed := b.timed(ctx, s, undo)
	r.At, r.SinceS, r.ElapsedS = from.UTC(), from.Sub(swapped).Seconds(), to.Sub(from).Seconds()
	if failed != nil {
		r.Error = failed.Error()
	}
	r.LockHeldMS = lockHeld(output)
	if way == undoWarm {
		text, _ := os.ReadFile(s.warmLog()) // none: no figure
		r.LockHeldMS = lockHeld(string(text))
	}
	if err := pause(ctx, b.after); err != nil {
		return r, err
	}
	window, _, err := foreground.end(from, to)
	r.LongestMS = window.LongestMS
	return r, err
}

// undoChange makes the change that is to be taken back.
func (b *bench) undoChange(ctx context.Context, s *server, way string) error {
	if err := os.Mkdir(s.control(), 0o700); err != nil {
		return err
	}
	if way == undoGhost {
		output, err := b.ghostCommand(s, "--alter="+change, "--checkpoint").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, tail(string(output)))
		}
		return nil
	}
	return run(ctx, b.midstream, b.ownArgs(s, "run", "--undo=24h", "--method=shadow", "--full-speed", s.keeping(), "ALTER TABLE "+table+" "+change)...)
}

// ownArgs are the arguments of a verb of midstream on the server.
func (b *bench) ownArgs(s *server, verb string, more ...string) []string {
	return append([]string{verb, "--defaults-file=/dev/null", "--host=127.0.0.1", "--port=" + s.port(), "--user=" + s.db.User,
		"--control-dir=" + s.control()}, more...)
}

// keeping has a verb keep its history on the server's folder. A release of a process that follows takes no such flag.
func (s *server) keeping() string { return "--history-dir=" + s.control() }

func (b *bench) ghostCommand(s *server, more ...string) *exec.Cmd {
	return b.programs.built[toolGhost].command(context.Background(), append([]string{"--host=127.0.0.1", "--port=" + s.port(),
		"--user=" + s.db.User, "--database=" + database, "--table=" + tableName, "--allow-on-master", "--execute",
		"--serve-socket-file=" + filepath.Join(s.dir, "gh-ost.sock"),
		"--throttle-additional-flag-file=" + filepath.Join(s.dir, "gh-ost.throttle")}, more...)...)
}

// undoCommand is the command that takes the change back.
func (b *bench) undoCommand(s *server, way string) []string {
	switch way {
	case undoGhost:
		return b.ghostCommand(s, "--revert", "--checkpoint", "--old-table=_"+tableName+"_del").Args
	case undoCold:
		return append([]string{b.midstream}, b.ownArgs(s, "undo", "--json", "--cold", s.keeping(), table)...)
	}
	argv := append([]string{b.midstream}, b.ownArgs(s, "undo", "--json", table)...)
	if way == undoWarm { // it only releases the process that follows
		return argv
	}
	return append(argv, s.keeping())
}

// control is the folder of the sockets of runs, which no other user may read.
func (s *server) control() string { return filepath.Join(s.dir, "control") }

func (s *server) warmLog() string { return filepath.Join(s.dir, "warm.json") }

// warmCommand begins an undo that is held, and returns the command that releases it and waits for its end.
func (b *bench) warmCommand(ctx context.Context, s *server) ([]string, error) {
	_, err := b.beginWarm(ctx, s)
	return b.undoCommand(s, undoWarm), err
}

// beginWarm begins an undo that is held, and returns when it follows.
func (b *bench) beginWarm(ctx context.Context, s *server) (*exec.Cmd, error) {
	log, err := os.Create(s.warmLog())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	held := exec.CommandContext(ctx, b.midstream, b.ownArgs(s, "undo", "--json", "--hold", s.keeping(), table)...)
	held.Stdout, held.Stderr = log, log
	if err := held.Start(); err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	go func() { _ = held.Wait(); close(gone) }()
	for {
		text, err := os.ReadFile(s.warmLog())
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), `"phase":"hold"`) {
			return held, nil
		}
		select {
		case <-gone:
			return nil, fmt.Errorf("the held undo ended: %s", tail(string(text)))
		default:
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// timed runs a command, by --undo-under if that is given, and returns when it began and ended, without what the other
// program took.
func (b *bench) timed(ctx context.Context, s *server, argv []string) (from, to time.Time, output string, err error) {
	file := filepath.Join(s.dir, "times")
	script := `date +%s.%N >"$0"; "$@"; code=$?; date +%s.%N >>"$0"; exit $code`
	full := slices.Concat(b.undoUnder, []string{"sh", "-c", script, file}, argv)
	text, err := exec.CommandContext(ctx, full[0], full[1:]...).CombinedOutput()
	if output = string(text); err != nil {
		err = fmt.Errorf("%w: %s", err, tail(output))
	}
	stamps, readErr := os.ReadFile(file)
	var moments []time.Time
	for _, field := range strings.Fields(string(stamps)) {
		seconds, parseErr := strconv.ParseFloat(field, 64)
		readErr = errors.Join(readErr, parseErr)
		moments = append(moments, time.UnixMicro(int64(seconds*1e6)))
	}
	if len(moments) != 2 {
		return from, to, output, errors.Join(err, readErr, errors.New("the time is not known"))
	}
	return moments[0], moments[1], output, errors.Join(err, readErr)
}

// lockHeld is how long the lock of the swap was held, by the result among lines of --json; 0 if it is not known.
func lockHeld(lines string) float64 {
	held := 0.0
	for line := range strings.Lines(lines) {
		var e midstreamEvent
		if json.Unmarshal([]byte(line), &e) == nil && e.Event == "result" {
			held = e.LockHeldMS
		}
	}
	return held
}
