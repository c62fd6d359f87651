package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// loadScript is sysbench's workload with a trace of every transaction.
//
//go:embed load.lua
var loadScript []byte

// transaction is one transaction of the foreground, in microseconds (of Unix time).
type transaction struct {
	at, took int64
	failed   bool
}

// Foreground is what the application did during a window.
type Foreground struct {
	TPS       float64 `json:"tps"`        // committed transactions a second
	P99MS     float64 `json:"p99_ms"`     // of transactions that overlap the window
	LongestMS float64 `json:"longest_ms"` // of the same transactions
	// Failed were rolled back by a deadlock or a changed definition, and begun again.
	Failed int    `json:"failed"`
	Died   string `json:"died,omitempty"`
	// SecondsP99MS has the p99 of each second of the window in which a transaction ended.
	SecondsP99MS []float64 `json:"seconds_p99_ms,omitempty"`
	// PerSecond counts commits from the start of the load. The tool ran from ToolFromS to ToolToS.
	PerSecond []int   `json:"per_second"`
	ToolFromS float64 `json:"tool_from_s"`
	ToolToS   float64 `json:"tool_to_s"`
}

// load is a running sysbench.
type load struct {
	cmd    *exec.Cmd
	prefix string
	start  time.Time
	output bytes.Buffer
	done   chan struct{}
	ended  error
}

// startLoad starts sysbench's oltp_read_write on the server. rate is in transactions a second; 0
// means as fast as it can be; more are further arguments. It runs until stop.
func startLoad(ctx context.Context, sysbench *program, s *server, o options, rate float64, more ...string) (*load, error) {
	dir, err := os.MkdirTemp(s.dir, "load-")
	if err != nil {
		return nil, fmt.Errorf("make the load's folder: %w", err)
	}
	script := filepath.Join(dir, "load.lua")
	if err := os.WriteFile(script, loadScript, 0o644); err != nil {
		return nil, fmt.Errorf("write the load's script: %w", err)
	}
	l := &load{prefix: filepath.Join(dir, "trace"), start: time.Now(), done: make(chan struct{})}
	args := append(sysbenchArgs(s, script, o.rows),
		"--threads="+strconv.Itoa(o.threads), "--trace="+l.prefix, "--time=86400",
		// Deadlock, lock wait, changed row, and a definition that changed under a transaction:
		// sysbench begins again.
		"--mysql-ignore-errors=1213,1205,1020,1412")
	if rate > 0 {
		args = append(args, fmt.Sprintf("--rate=%d", int(math.Round(max(rate, 1)))))
	}
	l.cmd = sysbench.command(ctx, append(append(args, more...), "run")...)
	l.cmd.Stdout, l.cmd.Stderr = &l.output, &l.output
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sysbench: %w", err)
	}
	go func() {
		l.ended = l.cmd.Wait()
		close(l.done)
	}()
	return l, nil
}

func sysbenchArgs(s *server, script string, rows int) []string {
	return []string{script, "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-port=" + strconv.Itoa(s.db.Port),
		"--mysql-user=" + s.db.User, "--mysql-db=" + database, "--tables=1", "--table-size=" + strconv.Itoa(rows)}
}

// died returns why the load has ended by itself; "" if it runs.
func (l *load) died() string {
	select {
	case <-l.done:
		return fmt.Sprintf("sysbench ended by itself: %v: %s", l.ended, tail(l.output.String()))
	default:
		return ""
	}
}

// stop ends the load and returns its trace. died is why it had ended by itself.
func (l *load) stop() (trace []transaction, died string, err error) {
	if died = l.died(); died == "" {
		// The trace is flushed ten times a second, and the window ended earlier.
		_ = l.cmd.Process.Kill()
		<-l.done
	}
	files, err := filepath.Glob(l.prefix + ".*")
	if err != nil {
		return nil, died, fmt.Errorf("find the load's trace: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, died, fmt.Errorf("read the load's trace: %w", err)
		}
		trace = append(trace, readTrace(text)...)
	}
	return trace, died, nil
}

// end ends the load, and returns what it did while a tool ran, with the trace.
func (l *load) end(from, to time.Time) (f Foreground, trace []transaction, err error) {
	trace, died, err := l.stop()
	f = summarise(trace, from.UnixMicro(), to.UnixMicro())
	f.Died, f.PerSecond = died, perSecond(trace, l.start, time.Now())
	f.ToolFromS, f.ToolToS = from.Sub(l.start).Seconds(), to.Sub(l.start).Seconds()
	return f, trace, err
}

// readTrace reads the complete lines of a thread's file.
func readTrace(text []byte) []transaction {
	var trace []transaction
	lines := bufio.NewScanner(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
	for lines.Scan() {
		var t transaction
		var failed int
		if n, _ := fmt.Sscan(lines.Text(), &t.at, &t.took, &failed); n == 3 {
			t.failed = failed != 0
			trace = append(trace, t)
		}
	}
	return trace
}

// summarise returns what was done between two moments, in microseconds of Unix time.
func summarise(trace []transaction, from, to int64) Foreground {
	var f Foreground
	var waits []float64
	committed := 0
	for _, t := range trace {
		end := t.at + t.took
		if end <= from || t.at >= to {
			continue
		}
		waits = append(waits, float64(t.took)/1e3)
		switch {
		case t.failed:
			f.Failed++
		case end <= to:
			committed++
		}
	}
	f.TPS = ratio(float64(committed), float64(to-from)/1e6)
	if len(waits) > 0 {
		f.P99MS, f.LongestMS = percentile(waits, 99), highest(waits)
	}
	return f
}

// secondsP99 returns the p99 of each second between two moments. A transaction belongs to the second in
// which it ends. The last value includes the rest of a second, and transactions that end later.
func secondsP99(trace []transaction, from, to int64) (p99s []float64) {
	waits := make([][]float64, max(1, (to-from)/1e6))
	for _, t := range trace {
		if end := t.at + t.took; end > from && t.at < to {
			second := min(int((end-from)/1e6), len(waits)-1)
			waits[second] = append(waits[second], float64(t.took)/1e3)
		}
	}
	for _, second := range waits {
		if len(second) > 0 {
			p99s = append(p99s, percentile(second, 99))
		}
	}
	return p99s
}

// perSecond counts the commits of each second from start.
func perSecond(trace []transaction, start, end time.Time) []int {
	counts := make([]int, max(int(end.Sub(start).Seconds()), 0))
	for _, t := range trace {
		second := int((t.at + t.took - start.UnixMicro()) / 1e6)
		if !t.failed && second >= 0 && second < len(counts) {
			counts[second]++
		}
	}
	return counts
}
