package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// StatementRun is how long single statements of one kind took on a table that a tool captures, and
// on a table that no tool captures.
type StatementRun struct {
	Tool     string  `json:"tool"`
	Kind     string  `json:"kind"`
	Round    int     `json:"round"`
	N        int     `json:"n"`
	MedianUS float64 `json:"median_us"`
	P99US    float64 `json:"p99_us"`
}

// Tools of the measurement, in addition to those of capture.
const (
	toolPTBegun  = "pt-osc, begun"  // its new table has no rows
	toolPTCopied = "pt-osc, copied" // its new table has all rows
)

// statementRows is the size of each table: all stay in memory.
const statementRows = 100_000

// statementKinds are the kinds, in the order in which each row of a turn has them.
var statementKinds = []string{"update", "delete", "insert"}

// turnRows is how many rows one turn at a table writes. Turns are short, so that other loads of the
// machine affect all tables alike.
const turnRows = 20

// statement measures what capture adds to a write statement of the application's. The tables of all
// tools are on one server, and a client writes to one after the other, a few rows at a time. No
// commit waits for a disk, because that would take longer than everything that is measured.
func (b *bench) statement(ctx context.Context) (err error) {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		if err := b.statementRound(ctx, f, round); err != nil {
			return fmt.Errorf("statement, round %d: %w", round+1, err)
		}
		if err := b.results.save(measureStatement, f); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) statementRound(ctx context.Context, f *File, round int) (err error) {
	s, err := b.base.startAs(ctx, "run", map[string]string{"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	ctx, stop := context.WithCancel(ctx)
	var captured []*writtenTable
	defer func() {
		stop()
		for _, c := range captured {
			c.ended()
		}
	}()
	for i, name := range b.statementTools() {
		c := &writtenTable{tool: name, table: fmt.Sprintf("%s.written%d", database, i)}
		if err := s.exec(ctx, "CREATE TABLE "+c.table+" LIKE "+table); err != nil {
			return err
		}
		if err := s.exec(
			ctx,
			fmt.Sprintf("INSERT INTO %s SELECT * FROM %s ORDER BY id LIMIT %d", c.table, table, statementRows),
		); err != nil {
			return err
		}
		if err := b.capturing(ctx, s, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		captured = append(captured, c)
	}
	conn, err := s.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	random := rand.New(rand.NewPCG(uint64(round), 1))
	for end, turn := time.Now().Add(b.besideWindow), 0; time.Now().Before(end); turn++ {
		for i := range captured {
			if err := captured[(i+turn)%len(captured)].write(ctx, conn, random); err != nil {
				return err
			}
		}
	}
	for _, c := range captured {
		for _, kind := range statementKinds {
			r := StatementRun{
				Tool:     c.tool,
				Kind:     kind,
				Round:    round,
				N:        len(c.took[kind]),
				MedianUS: median(c.took[kind]),
				P99US:    percentile(c.took[kind], 99),
			}
			f.Statements = append(f.Statements, r)
			b.say("round %d  %-22s %-7s median %6.0f us, p99 %6.0f us, of %d", round+1, r.Tool, r.Kind, r.MedianUS, r.P99US, r.N)
		}
	}
	return nil
}

func (b *bench) statementTools() []string {
	if b.programs.ptOSC == nil {
		return []string{toolNone, toolTrigger, toolMidstream}
	}
	return []string{toolNone, toolTrigger, toolMidstream, toolPTBegun, toolPTCopied}
}

// writtenTable is a table that a tool captures.
type writtenTable struct {
	tool, table string
	took        map[string][]float64 // microseconds, by kind
	process     *exec.Cmd            // the capturing tool's; nil for none
	over        chan struct{}
	said        bytes.Buffer // by the process; read it afterwards
}

// names are the names of its schema and of itself.
func (w *writtenTable) names() (schema, name string) {
	schema, name, _ = strings.Cut(w.table, ".")
	return schema, name
}

// ended waits for the tool's process, which the end of its context has killed.
func (w *writtenTable) ended() {
	if w.process != nil {
		<-w.over
	}
}

// capturing lets the tool capture the table's changes.
func (b *bench) capturing(ctx context.Context, s *server, w *writtenTable) error {
	schema, name := w.names()
	dsn := fmt.Sprintf("h=127.0.0.1,P=%s,u=%s,D=%s,t=%s", s.port(), s.db.User, schema, name)
	pt := []string{"--execute", "--no-version-check", "--recursion-method=none", "--alter", change}
	switch w.tool {
	case toolNone, captureBare:
		return nil
	case toolPTCopied:
		// Its triggers stay, and so does its new table.
		args := append(pt, "--no-swap-tables", "--no-drop-new-table", "--no-drop-old-table", "--no-drop-triggers", dsn)
		if out, err := b.programs.ptOSC.command(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, tail(string(out)))
		}
		return nil
	case toolPTBegun:
		pausing := filepath.Join(s.dir, "pause")
		if err := os.WriteFile(pausing, nil, 0o644); err != nil {
			return err
		}
		return b.leave(ctx, s, w, b.programs.ptOSC.command(ctx, append(pt, "--pause-file="+pausing, dsn)...))
	}
	by := "binlog"
	if w.tool == toolTrigger {
		by = "trigger"
	}
	args := append(
		[]string{
			"run", "--defaults-file=/dev/null", "--host=127.0.0.1", "--port=" + s.port(), "--user=" + s.db.User,
			"--json", "--no-history", "--method=shadow", "--copy-share=0%", "--capture=" + by,
		},
		b.gentle()...)
	return b.leave(ctx, s, w, exec.CommandContext(ctx, b.midstream, append(args, "ALTER TABLE "+w.table+" "+change)...))
}

// captures is the time in which a tool must begin.
const captures = 10 * time.Second

// leave starts a tool, which continues until the context ends, and gives it the time to begin.
func (b *bench) leave(ctx context.Context, s *server, w *writtenTable, cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = &w.said, &w.said
	if err := cmd.Start(); err != nil {
		return err
	}
	w.process, w.over = cmd, make(chan struct{})
	go func() {
		defer close(w.over)
		_ = cmd.Wait() // it is killed
	}()
	select {
	case <-w.over:
		return w.hasEnded()
	case <-time.After(captures):
	}
	if w.tool == toolMidstream {
		return nil
	}
	schema, name := w.names()
	var triggers int
	err := s.sql.QueryRowContext(
		ctx,
		"SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = ? AND event_object_table = ?",
		schema, name,
	).Scan(
		&triggers,
	)
	if err == nil && triggers != 3 {
		err = fmt.Errorf("the tool has %d triggers after %s", triggers, captures)
	}
	return err
}

// hasEnded is the error of a process that should be at work. REQUIRES: the process has ended.
func (w *writtenTable) hasEnded() error {
	return fmt.Errorf("the tool has ended: %s", tail(w.said.String()))
}

// write takes a turn.
func (w *writtenTable) write(ctx context.Context, conn *sql.Conn, random *rand.Rand) error {
	if w.took == nil {
		w.took = map[string][]float64{}
	}
	for range turnRows {
		id := 1 + random.IntN(statementRows)
		text := fmt.Sprintf("%d", random.Uint64())
		for _, kind := range statementKinds {
			statement := map[string]string{
				"update": fmt.Sprintf("UPDATE %s SET c = '%s' WHERE id = %d", w.table, text, id),
				"delete": fmt.Sprintf("DELETE FROM %s WHERE id = %d", w.table, id),
				"insert": fmt.Sprintf("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '')", w.table, id, random.IntN(statementRows), text),
			}[kind]
			began := time.Now()
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
			w.took[kind] = append(w.took[kind], float64(time.Since(began).Nanoseconds())/1e3)
		}
	}
	return nil
}

// added is how many microseconds a tool adds to a write statement, on average over the kinds: the
// median of the rounds.
func (f *File) added(tool string) float64 {
	if f == nil {
		return median(nil)
	}
	sums := map[int]float64{}
	for _, r := range f.Statements {
		switch r.Tool {
		case tool:
			sums[r.Round] += r.MedianUS / float64(len(statementKinds))
		case toolNone:
			sums[r.Round] -= r.MedianUS / float64(len(statementKinds))
		}
	}
	var values []float64
	for _, sum := range sums {
		values = append(values, sum)
	}
	return median(values)
}

// statementVerdict reports what our triggers add to a write statement, as a multiple of what
// pt-osc's triggers add.
func statementVerdict(f *File) verdict {
	ours, begun, copied := f.added(toolTrigger), f.added(toolPTBegun), f.added(toolPTCopied)
	return atMost("a write statement: time that our triggers add, compared with pt-osc's", ratio(ours, (begun+copied)/2), 1, "%.2fx").
		noted(
			"ours %s; pt-osc's %s at the begin of its copy, %s at its end; the binlog %s", number(ours, "%.0f us"),
			number(begun, "%.0f us"), number(copied, "%.0f us"), number(f.added(toolMidstream), "%.0f us"),
		)
}

func (p *page) statement(f *File) {
	if f == nil {
		return
	}
	p.line("## What capture adds to a write statement\n")
	p.line(
		"One client writes single rows to five tables on one server, a few to each in turn; only the tools work in addition. The server syncs no commit (`sync_binlog = 0`,",
	)
	p.line(
		"`innodb_flush_log_at_trx_commit = 2`). pt-osc's triggers write to its new table: an empty one at the begin of its copy, a full one at the end. Microseconds.\n",
	)
	p.head("tool", "kind", "median", "p99", "added by the median")
	for _, tool := range []string{toolNone, toolMidstream, toolTrigger, toolPTBegun, toolPTCopied} {
		for _, kind := range statementKinds {
			of := func(tool string, value func(StatementRun) float64) (values []float64) {
				for _, r := range f.Statements {
					if r.Tool == tool && r.Kind == kind {
						values = append(values, value(r))
					}
				}
				return values
			}
			medianOf := func(r StatementRun) float64 { return r.MedianUS }
			medians := of(tool, medianOf)
			if len(medians) == 0 {
				continue
			}
			p.row(tool, kind, spread(medians, "%.0f"), spread(of(tool, func(r StatementRun) float64 { return r.P99US }), "%.0f"),
				number(median(medians)-median(of(toolNone, medianOf)), "%.0f"))
		}
	}
	p.line("")
}
