package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/history"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Files of a change's folder.
const (
	lockFile    = "lock"   // is locked for as long as the process lives
	stdoutFile  = "stdout" // records, as --json prints them
	stderrFile  = "stderr"
	historyPart = "runs"    // the folder of its history
	resultFile  = "result"  // its result, in room that was made for it beforehand
	earlierFile = "earlier" // names of the histories in that folder that are not its own
)

// errHeld says that a process of the change is there.
var errHeld = errors.New("a process of the change is active")

// begin starts the run of a change. The store has the intention first. An error means that the
// change still waits, because the state folder is full, say.
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
		s.cfg.Note(fmt.Sprintf("the report of change %s covers only this run, without earlier attempts: %v", e.ID, err))
	}
	if err := s.makeRoom(e); err != nil {
		return fmt.Errorf("begin change %s: %w", e.ID, err)
	}
	if len(e.Texts) > 0 {
		if err := layFiles(e.Texts, filepath.Join(folder, filesFolder)); err != nil {
			return fmt.Errorf("begin change %s: %w", e.ID, err)
		}
	}
	changed, now := *e, time.Now().UTC()
	changed.State, changed.Began, changed.Place, changed.Why, changed.Next = StateRunning, &now, s.place, "", ""
	if err := s.replace(ctx, &changed); err != nil {
		return err
	}
	begun := changed
	begun.Process, err = s.start(&changed, lock)
	if err != nil {
		err = fmt.Errorf("start the run of change %s: %w", e.ID, err)
		if dbconn.Passes(err) {
			return errors.Join(err, s.waitAgain(ctx, &begun, err.Error()))
		}
		begun.end(
			StateFailed, fmt.Sprintf("cannot start its process: %v. Nothing was written", err),
			"remove that cause, and run the change again: "+runAgain(e.ID),
		)
	}
	return s.replace(ctx, &begun)
}

// waitAgain makes a change wait again, because its run could not begin, or ended for a cause that passes by itself.
func (s *Service) waitAgain(ctx context.Context, e *entry, why string) error {
	changed := *e
	if e.gives() {
		changed.end(StateWithdrawn, "its change set took it back: "+why, "")
		return s.replace(ctx, &changed)
	}
	changed.State, changed.Began, changed.Place, changed.Process, changed.Ready = StateWaiting, nil, "", 0, nil
	changed.Why, changed.Next = why+". The service tries again", ""
	return s.replace(ctx, &changed)
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
	cmd := exec.Command(
		s.cfg.Executable,
		s.command(e.verb(), e, filepath.Join(folder, filesFolder), "--json", "--history-dir="+filepath.Join(folder, historyPart), "--result-file="+filepath.Join(folder, resultFile),
			"--cutover-when-gone="+s.freezes.file(e.Server))...)
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	if s.cfg.Page != nil {
		cmd.Env = append(cmd.Env, socket.PageEnv+"="+s.cfg.Page()+"/changes/"+url.PathEscape(e.ID))
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, stderr, []*os.File{lock}
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // its result is in the folder
	return cmd.Process.Pid, nil
}

// create makes a file that the process writes to at its end, wherever that is by then.
func create(folder, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
}

// command are the arguments of a verb for a change. files is the folder of its files, if it has some.
func (s *Service) command(verb string, e *entry, files string, more ...string) []string {
	args := append(append([]string{verb}, s.connects(e.Server)...), more...)
	args = append(args, e.arguments()...)
	switch {
	case len(e.Texts) > 0:
		return append(args, "--to="+files)
	case e.Undoes == "":
		return append(args, "--", e.Statement)
	}
	return append(args, "--swapped="+e.Taken.Format(time.RFC3339Nano), "--", schema.NameOf(e.Table).Argument())
}

// connects are the flags by which a process of this machine connects to a server, and prints how others reach it.
func (s *Service) connects(server string) []string {
	flags := append(s.servers.of(server).flags(), "--"+reach.At+"="+s.address(server))
	if own := s.ownFolder(); own != "" {
		flags = append(flags, "--control-dir="+own)
	}
	return flags
}

// address is how other machines reach a server; "" if that is not known.
func (s *Service) address(server string) string { return s.servers.of(server).Config.Address }

// verb is that of midstream that carries the change out.
func (e *entry) verb() string {
	if e.Undoes != "" {
		return "undo"
	}
	return cmp.Or(e.changesRows(), "run")
}

// alive reports that the process of a change is at work. An error means that it is not known now.
func (s *Service) alive(e *entry) (bool, error) {
	lock, err := hold(filepath.Join(s.folder(e.ID), lockFile))
	switch {
	case err == nil:
		lock.Close()
		return false, nil
	case errors.Is(err, errHeld):
		return e.Process == 0 || !history.Gone(e.Process), nil // a child of it may hold the lock still
	case e.Process > 0 && !history.Gone(e.Process):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // its folder was removed
	}
	return false, fmt.Errorf("look for the run of change %s: %w", e.ID, err)
}

// mostOutput is the size of a process's standard output at which it is begun anew: its history has all that counts.
const mostOutput = 16 << 20

// watch settles a change whose process has ended. While its result cannot be read or kept, the change stays running.
func (s *Service) watch(ctx context.Context, e *entry) error {
	alive, err := s.alive(e)
	if err != nil {
		return err
	}
	if alive {
		if e.Process == 0 { // the daemon was killed before it could write that down
			return s.learn(ctx, e)
		}
		path := filepath.Join(s.folder(e.ID), stdoutFile)
		if info, err := os.Stat(path); err == nil && info.Size() > mostOutput {
			return os.Truncate(path, 0)
		}
		return nil
	}
	paths, err := s.found(e)
	if err != nil {
		return err
	}
	result, err := s.result(e, paths)
	switch {
	case err != nil:
		return err
	case result == nil && e.Process == 0 && len(paths) == 0:
		return s.waitAgain(ctx, e, "its process was not started")
	case result == nil && soaked(paths):
		s.pending.later(e.ID)
		return s.waitAgain(ctx, e, "its run was killed between the two acts of its drop, and resumes")
	case result != nil && result.Passing && e.Member == nil:
		s.pending.later(e.ID)
		return s.waitAgain(ctx, e, "its run has ended: "+result.Error)
	}
	changed := *e
	changed.settle(result, s.unfilled(e))
	changed.mayPassLater(result != nil && result.Passing)
	changed.Kept = s.own(changed.Kept, e)
	if result != nil && result.Undo == nil && changed.Next == "" && len(paths) == 1 && len(e.Files) == 0 {
		changed.Next = changed.wayBack(paths[0])
	}
	return s.keep(ctx, &changed, paths)
}

// soaked reports whether a run was between the two acts of a drop when it ended: then the same command resumes it.
func soaked(paths []string) (soaks bool) {
	if len(paths) != 1 {
		return false
	}
	story, err := history.Read(paths[0])
	if err != nil {
		return false
	}
	for _, e := range story.Events {
		if e, is := e.(event.Soak); is {
			soaks = e.State == event.SoakBegun || e.State == event.SoakHeld
		}
	}
	return soaks
}

// keep writes a change that is over to the store, with its history.
func (s *Service) keep(ctx context.Context, e *entry, paths []string) error {
	if len(paths) == 0 {
		return s.replace(ctx, e)
	}
	told, err := groups.Join(paths)
	if err == nil {
		changed := *e
		changed.Told = e.number()
		if err = s.put(ctx, &changed, told); err == nil {
			s.show(&changed)
			return nil
		}
	}
	if !errors.Is(err, errTooLarge) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.replace(ctx, e); err != nil {
		return err
	}
	s.cfg.Note(fmt.Sprintf("cannot keep the history of change %s in the store: %v", e.ID, err)) // it is in its folder
	return nil
}

// settle says what has become of a change. An undo may lack values for rows that are new.
func (e *entry) settle(result *record.Result, lacks plan.Filling) {
	if result == nil {
		next := runAgain(e.ID) + " resumes it"
		if e.Undoes != "" {
			next = e.undoAgain() + " resumes it"
		}
		e.end(StateUnknown, socket.ErrKilled.Error(), next+"; or list and remove what is left with: "+e.cleanups())
		return
	}
	why := result.Cause()
	if result.Left != "" {
		why = strings.TrimSuffix(why, ".") + ". Left: " + strings.TrimSuffix(result.Left, ".")
	}
	next := cmp.Or(e.complete(result.Needed), e.resubmit(result.Next))
	orphans := len(result.Unfit) > 0 && result.Unfit[len(result.Unfit)-1].Kind == "foreign_key" // --park does not help
	if e.Undoes != "" && result.Outcome == "unfit" && !orphans {
		next = fmt.Sprintf("change the rows that are listed, then: %s; or add --option=park: it copies them to a table of their own", e.undoAgain())
		next += valuesBy(e.undoAgain(), lacks)
	}
	e.end(StateOf(result.Outcome), why, next)
	if e.State == StateDone {
		e.Why = "its run took " + units.Span(result.ElapsedMS.Duration()) + e.rowsChanged(result)
		if result.Rehearsal != "" {
			e.Why += "; it was a " + result.Rehearsal + ", and " + e.unchanged()
		}
		if result.Undoes {
			e.Why += "; it was " + map[bool]string{true: "an undo", false: "a redo"}[result.Undo == nil || result.Undo.Redo]
		}
		e.Why += setAside(result)
		if len(e.Files) > 0 {
			e.Why += reached(result.Tables)
		}
		if e.Together || len(e.Files) > 0 {
			e.keptOlds(result)
		} else if result.Old != "" {
			e.Why += keptAs + schema.NameOf(result.Old).String()
			if result.Undo == nil && e.Options["keep"] == "" {
				e.Next = strings.TrimSpace(e.Next + " midstream cleanup  --old " + schema.NameOf(e.Table).Argument() + " drops it")
			}
		}
	}
	e.ExitCode, e.Kept, e.Unfit = &result.ExitCode, keptOf(result), result.Unfit
	if len(e.Files) > 0 {
		e.Results = result.Tables
	}
	e.ParkedRows, e.ParkedTable = result.ParkedRows, result.ParkedTable
}

// setAside says what has become of the rows that an undo has parked; "" if there are none. The redo of a TRUNCATE brings none back.
func setAside(result *record.Result) string {
	if result.ParkedRows == 0 {
		return ""
	}
	text := fmt.Sprintf("; %s set aside in %s", plural(int64(result.ParkedRows), "row"), schema.NameOf(result.ParkedTable))
	if result.Undo == nil || result.Undo.Mode == plan.UndoRename {
		return text
	}
	them := "them"
	if result.ParkedRows == 1 {
		them = "it"
	}
	return text + ", and the " + plan.UndoWord(result.Undo.Redo) + " brings " + them + " back"
}

// keptAs introduces the name of the old table of a change that is done.
const keptAs = "; the old table is kept as "

// resubmit says what to do as somebody does it who has submitted a change.
func (e *entry) resubmit(next string) string {
	again := "un it again (" + runAgain(e.ID) + ")"
	if e.Undoes != "" {
		return strings.NewReplacer(failure.SameCommand, "Run again: "+e.undoAgain(), "r"+failure.SameCommand[1:], "run again: "+e.undoAgain(),
			"give the same command again", "run again: "+e.undoAgain()).Replace(next)
	}
	return strings.NewReplacer(failure.SameCommand, "R"+again, "r"+failure.SameCommand[1:], "r"+again).Replace(next)
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

// learn takes the number of a run's process from its history, as soon as there is one.
func (s *Service) learn(ctx context.Context, e *entry) error {
	paths, err := s.found(e)
	if len(paths) == 0 || err != nil {
		return err
	}
	story, err := history.Read(paths[0])
	if err != nil {
		return err
	}
	changed := *e
	changed.Process = story.Run.Process
	return s.replace(ctx, &changed)
}
