package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"midstream/internal/control"
	"midstream/internal/dbconn"
	"midstream/internal/history"
	"midstream/internal/migration"
	"midstream/internal/record"
	"midstream/internal/schema"
)

// Files of a change's folder.
const (
	lockFile    = "lock"   // is locked for as long as the process lives
	stdoutFile  = "stdout" // records, as --json prints them
	stderrFile  = "stderr"
	historyPart = "runs" // the folder of its history
)

// errHeld says that a process of the change is there.
var errHeld = errors.New("a process of it is at work")

// begin starts the run of a change. What was meant is in the store before.
func (s *Service) begin(ctx context.Context, e *entry) error {
	folder := s.folder(e.ID)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("begin change %s: %w", e.ID, err)
	}
	lock, err := hold(filepath.Join(folder, lockFile))
	if err != nil {
		return fmt.Errorf("begin change %s: %w", e.ID, err)
	}
	defer lock.Close()                   // the child has it too
	if err := s.inherit(e); err != nil { // a report tells less, then
		s.cfg.Note(fmt.Sprintf("the report of change %s will begin with its own run: %v", e.ID, err))
	}
	changed, now := *e, time.Now().UTC()
	changed.State, changed.Began, changed.Place, changed.Why = StateRunning, &now, s.place, ""
	if err := s.replace(ctx, &changed); err != nil {
		return err
	}
	begun := changed
	if begun.Process, err = s.start(&changed, lock); err != nil {
		begun.end(StateFailed, fmt.Sprintf("its process could not be started: %v. Nothing was written", err), "see to that, and submit it again with another id")
	}
	return s.replace(ctx, &begun)
}

// start starts the process of a run.
func (s *Service) start(e *entry, lock *os.File) (process int, err error) {
	folder := s.folder(e.ID)
	stdout, err := create(folder, stdoutFile)
	if err != nil {
		return 0, err
	}
	defer stdout.Close()
	stderr, err := create(folder, stderrFile)
	if err != nil {
		return 0, err
	}
	defer stderr.Close()
	cmd := exec.Command(s.cfg.Executable, s.command("run", e, "--json", "--history-dir="+filepath.Join(folder, historyPart), "--control-dir="+s.cfg.ControlFolder)...)
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, stderr, []*os.File{lock}
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // what it has come to stands in its history
	return cmd.Process.Pid, nil
}

// create makes a file that the process writes to at its end, wherever that is by then.
func create(folder, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
}

// command are the arguments of a verb for a change.
func (s *Service) command(verb string, e *entry, more ...string) []string {
	args := append([]string{verb, "--defaults-file=" + s.cfg.Servers[e.Server]}, more...)
	return append(append(args, arguments(e.Options)...), "--", e.Statement)
}

// alive says that the process of a change is at work.
func (s *Service) alive(e *entry) bool {
	lock, err := hold(filepath.Join(s.folder(e.ID), lockFile))
	if err == nil {
		lock.Close()
		return false
	}
	if !errors.Is(err, errHeld) {
		return e.Process > 0 && !gone(e.Process)
	}
	return e.Process == 0 || !gone(e.Process) // a child of it may hold the lock still
}

// mostOutput is the size of a process's standard output at which it is begun anew: its history has all that counts.
const mostOutput = 16 << 20

// watch settles a change whose process has ended.
func (s *Service) watch(ctx context.Context, e *entry) error {
	if s.alive(e) {
		if e.Process == 0 { // the daemon was killed before it could write that down
			return s.learn(ctx, e)
		}
		path := filepath.Join(s.folder(e.ID), stdoutFile)
		if info, err := os.Stat(path); err == nil && info.Size() > mostOutput {
			return os.Truncate(path, 0)
		}
		return nil
	}
	changed := *e
	changed.settle(s.result(e))
	var told []byte
	var failed error
	if path := s.historyOf(e); path != "" {
		if told, failed = os.ReadFile(path); failed == nil {
			failed = s.put(ctx, &changed, told)
		}
		if failed == nil {
			s.show(&changed)
			return nil
		}
	}
	if err := s.replace(ctx, &changed); err != nil {
		return err
	}
	if failed != nil { // it may be larger than the server takes; the file is there still
		s.cfg.Note(fmt.Sprintf("the history of change %s is not in the store: %v", e.ID, failed))
	}
	return nil
}

// result is the last word of a run; nil if it has said none.
func (s *Service) result(e *entry) *record.Result {
	if path := s.historyOf(e); path != "" {
		if story, err := history.Read(path); err == nil && story.Result != nil {
			return story.Result
		}
	}
	// It has no history where it did not come so far as to connect.
	text, err := os.ReadFile(filepath.Join(s.folder(e.ID), stdoutFile))
	if err != nil {
		return nil
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	var result record.Result
	if json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &result) != nil || result.Event != record.NameResult {
		return nil
	}
	return &result
}

// settle says what has become of a change.
func (e *entry) settle(result *record.Result) {
	if result == nil {
		e.end(StateUnknown, control.ErrKilled.Error(), "submit the same statement again with another id; or see what is left, and remove it, with: midstream cleanup "+schema.NameOf(e.Table).Argument())
		return
	}
	why := result.Error
	for _, p := range result.Problems {
		why = strings.TrimPrefix(why+"; "+p.What, "; ")
	}
	if result.Left != "" {
		why += ". Left: " + result.Left
	}
	e.end(StateOf(result.Outcome), why, resubmit(result.Next))
	if e.State == StateDone {
		e.Why = fmt.Sprintf("its run took %s", result.ElapsedMS.Duration().Round(time.Millisecond))
		if result.Rehearsal != "" {
			e.Why += "; it was a " + result.Rehearsal + ", and the table is as it was"
		}
		if result.Old != "" {
			e.Why += "; the former table stays as " + result.Old
			e.Next = strings.TrimSpace(e.Next + " midstream cleanup --old " + schema.NameOf(e.Table).Argument() + " drops it once nobody needs it")
		}
	}
	e.ExitCode = &result.ExitCode
}

// resubmit says what to do as somebody does it who has submitted a change: with its id he would be answered with what has become of it.
func resubmit(next string) string {
	const again = "ubmit the same statement with another id"
	return strings.NewReplacer(migration.SameCommand, "S"+again, "r"+migration.SameCommand[1:], "s"+again).Replace(next)
}

// StateOf is what an outcome of a run makes of its change.
func StateOf(outcome string) State {
	switch outcome {
	case "done":
		return StateDone
	case "aborted":
		return StateAborted
	case "swap_unknown", "left_at_once":
		return StateUnknown
	}
	return StateFailed
}

// moment is how the names of histories begin.
const moment = "20060102T150405.000Z"

// historyOf is the path of a change's history on this machine; "" for none. Those from before it began are of others, whose work it goes
// on with.
func (s *Service) historyOf(e *entry) string {
	names, err := filepath.Glob(filepath.Join(s.folder(e.ID), historyPart, "*.jsonl"))
	if err != nil || len(names) == 0 || e.Began == nil {
		return ""
	}
	newest := slices.Max(names)
	if filepath.Base(newest) < e.Began.UTC().Format(moment) {
		return ""
	}
	return newest
}

// inherit gives a change the histories of those with whose work it may go on, for its report: of the same statement, if they were not done.
func (s *Service) inherit(e *entry) error {
	folder := filepath.Join(s.folder(e.ID), historyPart)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, former := range s.all() {
		path := s.historyOf(former)
		if former.ID == e.ID || former.Server != e.Server || former.Statement != e.Statement || former.State == StateDone || path == "" {
			continue
		}
		if err := os.Link(path, filepath.Join(folder, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// learn takes the number of a run's process from its history, as soon as there is one.
func (s *Service) learn(ctx context.Context, e *entry) error {
	path := s.historyOf(e)
	if path == "" {
		return nil
	}
	story, err := history.Read(path)
	if err != nil {
		return err
	}
	changed := *e
	changed.Process = story.Run.Process
	return s.replace(ctx, &changed)
}

// History returns the path of a change's history on this machine, "" where there is none yet, and whether nothing more will come to it.
// That of a run on another machine is taken from the store.
func (s *Service) History(ctx context.Context, id string) (path string, over bool, err error) {
	e := s.find(id)
	if e == nil {
		return "", true, unknown(id)
	}
	path, over = s.historyOf(e), e.State.Over()
	if path != "" || !over {
		return path, over, nil
	}
	text, err := s.store.History(ctx, id)
	if err != nil || text == nil || e.Began == nil {
		return "", over, err
	}
	path = filepath.Join(s.folder(id), historyPart, e.Began.UTC().Format(moment)+"-"+id+".jsonl")
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return path, over, err
}
