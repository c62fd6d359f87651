package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// The names of the tools.
const (
	toolMidstream = "midstream"
	toolPT        = "pt-osc"
	toolInplace   = "native-inplace"
	toolCopy      = "native-copy"
	toolNone      = "none" // the same foreground, and nothing else
)

const change = "ADD COLUMN c1 INT"

// usage is what a tool took.
type usage struct {
	elapsed time.Duration
	cpu     time.Duration // 0 for an ALTER: its client waits
	rss     int64
	err     error
	result  *midstreamResult // of midstream
}

// tool changes the table. It returns when it is done, has failed, or ctx is over.
type tool func(ctx context.Context, s *server) usage

// midstreamEvent has the fields of the lines of --json (docs/events.md) that the bench uses.
type midstreamEvent struct {
	Event      string      `json:"event"`
	Phase      string      `json:"phase"`
	Shadow     string      `json:"shadow"`
	Prediction *prediction `json:"prediction"`
	Captured   int64       `json:"captured_changes"`
	Applied    int64       `json:"applied_keys"`
	Backlog    int64       `json:"backlog_keys"`
	Workers    float64     `json:"workers"`
	ETAMS      *float64    `json:"eta_ms"`
	ETALeastMS *float64    `json:"eta_least_ms"`
	ETAMostMS  *float64    `json:"eta_most_ms"`
	Verified   int64       `json:"rows_verified"`
	Deadline   limitNow    `json:"deadline"`
	midstreamResult

	seen time.Time
}

// midstreamResult is the part of the result event that the bench keeps.
type midstreamResult struct {
	Method      string  `json:"method,omitempty"`
	Outcome     string  `json:"outcome,omitempty"`
	Error       string  `json:"error,omitempty"`
	ElapsedMS   float64 `json:"elapsed_ms,omitempty"`
	CopyMS      float64 `json:"copy_ms,omitempty"`
	IndexMS     float64 `json:"index_ms,omitempty"`
	VerifyMS    float64 `json:"verify_ms,omitempty"`
	RowsCopied  int64   `json:"rows_copied,omitempty"`
	Dropped     int64   `json:"dropped_changes,omitempty"`
	Merged      int64   `json:"merged_changes,omitempty"`
	Retries     int64   `json:"retries,omitempty"`
	Attempts    int64   `json:"attempts,omitempty"`
	LockHeldMS  float64 `json:"lock_held_ms,omitempty"`
	PeakRSS     int64   `json:"peak_rss_bytes,omitempty"`
	CPUMS       float64 `json:"cpu_ms,omitempty"`
	DiskBytes   int64   `json:"disk_bytes,omitempty"`
	RedoBytes   int64   `json:"redo_bytes,omitempty"`
	BinlogBytes int64   `json:"binlog_bytes,omitempty"`
	// Predicted is the plan's prediction.
	Predicted *prediction `json:"predicted,omitempty"`
	// DeadlineLateMS is negative if the run ended before its deadline.
	DeadlineLateMS *float64 `json:"deadline_late_ms,omitempty"`
	// For an event, read these from midstreamEvent, whose fields of the same names come first.
	CapturedChanges int64 `json:"captured_changes,omitempty"`
	AppliedKeys     int64 `json:"applied_keys,omitempty"`
	// Foresight is what was expected of the run.
	Foresight *foresight `json:"foresight,omitempty"`
	// Stages are those that the run went through.
	Stages []stage `json:"stages,omitempty"`
}

// limitNow is the limit of a run with a deadline, as a multiple of its --max-slowdown.
type limitNow struct {
	Factor float64 `json:"factor"`
}

// UnmarshalJSON reads the deadline of a progress event. The result has a text in its place.
func (l *limitNow) UnmarshalJSON(text []byte) error {
	type fields limitNow
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil
	}
	return json.Unmarshal(text, (*fields)(l))
}

// midstreamTool runs the command as a user would, and drops the old table as the other tools do.
// watch gets every event, one after the other; it may be nil.
//
// It builds a shadow, unless extra chooses otherwise: the shadow is what is measured.
func midstreamTool(path string, extra []string, watch func(midstreamEvent)) tool {
	return midstreamChange(path, extra, change, watch)
}

// midstreamChange is midstreamTool with another change.
func midstreamChange(path string, extra []string, change string, watch func(midstreamEvent)) tool {
	return func(ctx context.Context, s *server) usage {
		args := append([]string{"run"}, midstreamArgs(s, extra, change)...)
		var result *midstreamResult
		var planned *prediction
		var stages []stage
		var unread error
		u := observe(exec.CommandContext(ctx, path, args...), func(line []byte) {
			e := midstreamEvent{seen: time.Now()}
			if err := json.Unmarshal(line, &e); err != nil {
				unread = fmt.Errorf("read a line of --json: %w", err)
				return
			}
			if e.Event == "plan" {
				planned = e.Prediction
			}
			if e.Event == "phase" {
				stages = append(stages, stage{Phase: e.Phase, At: e.seen})
			}
			if e.Event == "result" {
				result = &e.midstreamResult
				result.Predicted, result.Stages = planned, stages
				result.CapturedChanges, result.AppliedKeys = e.Captured, e.Applied
			}
			if watch != nil {
				watch(e)
			}
		})
		u.result, u.err = result, errors.Join(u.err, unread)
		if result != nil {
			u.rss = max(u.rss, result.PeakRSS)
			if result.Error != "" {
				u.err = errors.Join(u.err, errors.New(result.Error))
			}
		}
		return u
	}
}

// midstreamArgs are the arguments of a verb for a change.
func midstreamArgs(s *server, extra []string, change string) []string {
	args := []string{"--defaults-file=/dev/null", "--host=127.0.0.1", "--port=" + s.port(), "--user=" + s.db.User,
		"--json", "--drop-old", "--method=shadow"}
	return append(append(args, extra...), "ALTER TABLE "+table+" "+change)
}

// ptTool runs pt-online-schema-change with its defaults. It looks neither for replicas, because
// there are none, nor for a newer release of itself.
func ptTool(pt *program, extra ...string) tool {
	return func(ctx context.Context, s *server) usage {
		args := append([]string{"--execute", "--no-version-check", "--recursion-method=none", "--alter", change}, extra...)
		return observe(
			pt.command(ctx, append(args, fmt.Sprintf("h=127.0.0.1,P=%s,u=%s,D=%s,t=%s", s.port(), s.db.User, database, tableName))...),
			nil,
		)
	}
}

// nativeTool runs one ALTER TABLE.
func nativeTool(options string) tool {
	return func(ctx context.Context, s *server) usage {
		start := time.Now()
		err := s.exec(ctx, "ALTER TABLE "+table+" "+change+", "+options)
		return usage{elapsed: time.Since(start), err: err}
	}
}

// observe runs a command to its end, passes on its output line by line, and samples its memory
// twenty times a second.
func observe(cmd *exec.Cmd, line func([]byte)) usage {
	var output bytes.Buffer
	cmd.Stderr = &output
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return usage{err: err}
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{err: err}
	}
	var u usage
	gone, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			u.rss = max(u.rss, peakRSS(cmd.Process.Pid))
			select {
			case <-gone:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line != nil {
			line(lines.Bytes())
		} else {
			output.Write(append(lines.Bytes(), '\n'))
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line too long to read
	if err = cmd.Wait(); err != nil {
		err = fmt.Errorf("%w: %s", err, tail(output.String()))
	}
	u.elapsed = time.Since(start)
	close(gone)
	<-watched
	u.err = err
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u
}
