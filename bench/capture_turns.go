package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// captureBare has the table with which the others are compared: no tool captures its changes.
const captureBare = "bare"

// capturedTable is one tool's table on a server that has a table for each tool, and the foreground
// that works on it when it is its turn.
type capturedTable struct {
	writtenTable
	load *load
	// gate is a file: while it exists, the foreground works.
	gate  string
	taken []turn
}

// captureTurns measures at the peak. One server has a table for each tool, and the foreground works
// on one after the other, in turns. Other loads of the machine change from one minute to the next,
// and make more of a difference at the peak than any capture; with turns they affect all tools
// alike. A tool is stopped (SIGSTOP) while it is another's turn.
func (b *bench) captureTurns(ctx context.Context, round int) (runs []Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	ctx, stop := context.WithCancel(ctx)
	var tables []*capturedTable
	defer func() {
		stop()
		for _, t := range tables {
			t.ended()
		}
	}()
	began := time.Now()
	for i, tool := range b.captureTools(captureBare, toolNone, toolTrigger, toolPTBegun) {
		t := &capturedTable{writtenTable: writtenTable{tool: tool, table: fmt.Sprintf("captured%d.%s", i, tableName)}}
		tables = append(tables, t)
		if err := b.begin(ctx, s, t); err != nil {
			return nil, fmt.Errorf("%s: %w", tool, err)
		}
	}
	for cycle := -1; cycle < int(b.besideWindow/turnFor); cycle++ {
		for _, t := range rotate(tables, cycle+1) {
			one, err := t.turn(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.tool, err)
			}
			if cycle >= 0 { // the first one warms up
				t.taken = append(t.taken, one)
			}
		}
	}
	for _, t := range tables {
		trace, died, err := t.load.stop()
		if died != "" {
			err = errors.Join(err, errors.New(died))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.tool, err)
		}
		done := turnsOf(trace, t.taken).Working
		runs = append(
			runs,
			Run{
				Tool:       t.tool,
				Load:       loadPeak,
				Round:      round,
				Rows:       b.base.rows,
				At:         began,
				ElapsedS:   time.Since(began).Seconds(),
				Foreground: &done,
			},
		)
	}
	bare, runs := runs[0], runs[1:]
	for i := range runs {
		r := &runs[i]
		if r.Before = bare.Foreground; r.Tool == toolPTBegun {
			r.Tool = toolPT
		}
		b.say("round %d  %-6s %-10s by turns, tps %.0f -> %.0f (%.1f %%), p99 %.1f -> %.1f ms (%.2fx)", round+1, r.Load, r.Tool,
			r.Before.TPS, r.Foreground.TPS, 100*besideTPS(*r), r.Before.P99MS, r.Foreground.P99MS, besideP99(*r))
	}
	return runs, nil
}

// captureTools are the named tools that are available.
func (b *bench) captureTools(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return b.programs.ptOSC == nil && (name == toolPT || name == toolPTBegun) })
}

// begin makes the table, starts its tool's capture, and starts its foreground, which waits for its
// turn.
func (b *bench) begin(ctx context.Context, s *server, t *capturedTable) error {
	schema, _ := t.names()
	for _, statement := range []string{"CREATE DATABASE " + schema, "CREATE TABLE " + t.table + " LIKE " + table,
		"INSERT INTO " + t.table + " SELECT * FROM " + table + " ORDER BY id"} {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := b.capturing(ctx, s, &t.writtenTable); err != nil {
		return err
	}
	if err := t.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	t.gate = filepath.Join(s.dir, schema+".turn")
	var err error
	t.load, err = startLoad(ctx, b.programs.sysbench, s, b.options, 0, "--mysql-db="+schema, "--gate="+t.gate)
	return err
}

// turn lets the table's tool and its foreground work for a while.
func (t *capturedTable) turn(ctx context.Context) (turn, error) {
	if err := t.signal(syscall.SIGCONT); err != nil {
		return turn{}, err
	}
	if err := os.WriteFile(t.gate, nil, 0o644); err != nil {
		return turn{}, err
	}
	from := time.Now().Add(turnEdge)
	err := pause(ctx, turnFor)
	to := time.Now()
	err = errors.Join(err, os.Remove(t.gate))
	if err == nil {
		err = pause(ctx, turnEdge) // for transactions under way
	}
	if died := t.load.died(); err == nil && died != "" {
		err = errors.New(died)
	}
	return turn{from, to, true}, errors.Join(err, t.signal(syscall.SIGSTOP))
}

// signal sends a signal to the tool's process, if there is one. pt-osc is stopped all the time: its
// triggers need no process, and after a minute of --pause-file it ends by itself (3.2.1).
func (t *capturedTable) signal(signal os.Signal) error {
	if t.process == nil || t.tool == toolPTBegun && signal == syscall.SIGCONT {
		return nil
	}
	select {
	case <-t.over:
		return t.hasEnded()
	default:
		return t.process.Process.Signal(signal)
	}
}
