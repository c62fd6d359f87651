package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/queue"
)

// setVerb is a verb that asks midstream serve about change sets.
type setVerb struct {
	app     *process.Process
	checks  flags.Set
	service process.ServiceFlags
	client  sets.Client
	json    bool
	wait    bool
	asked   sets.Ask
}

func newSetVerb(a *process.Process, use, short, example string) (*setVerb, *cobra.Command) {
	v := &setVerb{app: a}
	cmd := &cobra.Command{Use: use, Short: short, Example: "  midstream fleet " + example, Args: cobra.ArbitraryArgs}
	cmd.Long = help.Text("fleet " + cmd.Name())
	v.checks.Flags = cmd.Flags()
	v.checks.Flags.SortFlags = false
	v.checks.Bool(&v.json, "", "json", "print one JSON object for each set (docs/openapi-serve.yaml)")
	v.service.Register(&v.checks)
	help.InCommon(cmd.Flags())
	return v, cmd
}

func (v *setVerb) waits() {
	v.checks.Bool(&v.wait, "", "wait", "wait until the set has ended, or does not go on without a person (see the exit codes)")
}

// begin reads the command line.
func (v *setVerb) begin(verb string, problems ...error) error {
	client, wrong := v.service.Client(v.app)
	v.client = sets.Client{Queue: client}
	if err := exit.UsageOf("midstream fleet "+verb+" --help", append(append(v.checks.Problems, problems...), wrong...)...); err != nil {
		return err
	}
	v.app.Stands("asking the service", v.service.At)
	return nil
}

// one is the only argument.
func one(args []string, what string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("name %s; got %d arguments", what, len(args))
	}
	return args[0], nil
}

// setCommands are the verbs for change sets.
func setCommands(a *process.Process) []*cobra.Command {
	all := []*cobra.Command{submitCommand(a), statusCommand(a)}
	for _, one := range []struct {
		ask                rollout.Ask
		short, example     string
		wave, server, wait bool
	}{
		{rollout.AskApprove, rollout.AskApprove.Short() + ", or the set", "approve orders-note-1 --wave=canary", true, false, false},
		{"reject", "Reject a change set of another person that waits for an approval", "reject orders-note-1 --reason='the column exists in orders_extra'", false, false, false},
		{rollout.AskRelease, rollout.AskRelease.Short(), "release orders-note-1 --wave=canary", true, true, true},
		{rollout.AskAgain, rollout.AskAgain.Short(), "again orders-note-1 --server=shard-031", false, true, true},
		{rollout.AskSkip, rollout.AskSkip.Short(), "skip orders-note-1 --server=shard-031", false, true, true},
		{rollout.AskCancel, rollout.AskCancel.Short(), "cancel orders-note-1", false, false, true},
		{rollout.AskUndo, rollout.AskUndo.Short(), "undo orders-note-1 --wait", false, false, true},
	} {
		v, cmd := newSetVerb(a, string(one.ask)+" SET", one.short, one.example)
		if one.wave {
			v.checks.Flags.StringVar(&v.asked.Wave, "wave", "", "name of a wave")
		}
		if one.server {
			v.checks.Flags.StringVar(&v.asked.Server, "server", "", "name of a server")
		}
		v.checks.Flags.StringVar(&v.asked.Reason, "reason", "", "why, for the journal")
		if one.wait {
			v.waits()
		}
		cmd.RunE = a.Verb(func(ctx context.Context, args []string) error { return v.ask(ctx, string(one.ask), args) })
		all = append(all, cmd)
	}
	return all
}

// ask asks for something.
func (v *setVerb) ask(ctx context.Context, ask string, args []string) error {
	id, problem := one(args, "the change set")
	if (ask == "again" || ask == "skip") && v.asked.Server == "" {
		problem = errors.Join(problem, errors.New("name the member: --server"))
	}
	if err := v.begin(ask, problem); err != nil {
		return err
	}
	v.asked.By = queue.ThisUser()
	view, err := v.client.Ask(ctx, id, ask, v.asked)
	if err != nil {
		return exit.Unanswered(ctx, err, v.service.At)
	}
	return v.end(ctx, view)
}

func submitCommand(a *process.Process) *cobra.Command {
	v, cmd := newSetVerb(a, "submit SET.yaml", "Submit a change set to midstream serve", "submit orders-note-1.yaml --wait")
	v.waits()
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		path, problem := one(args, "the file of the change set, or - for the standard input")
		var text []byte
		if problem == nil && path == "-" {
			text, problem = io.ReadAll(a.Stdin)
		} else if problem == nil {
			text, problem = os.ReadFile(path)
		}
		var files []queue.File
		if problem == nil {
			files, problem = filesOf(path, text)
		}
		if err := v.begin("submit", problem); err != nil {
			return err
		}
		view, err := v.client.Submit(ctx, sets.SetFile{Text: string(text), Files: files, By: queue.ThisUser()})
		if err != nil {
			return exit.Unanswered(ctx, err, v.service.At)
		}
		if err := v.end(ctx, view); err != nil || v.json || v.wait || view.Next != "" {
			return err
		}
		fmt.Fprintf(a.Stdout, "  next: midstream fleet status  %s shows how far it is\n", escape.Line(view.ID))
		return nil
	})
	return cmd
}

// filesOf reads the files and folders that a set names, from the folder of its own file on. The service reports errors in its rules.
func filesOf(path string, text []byte) (files []queue.File, err error) {
	rules, wrong := changeset.Parse(path, text)
	if wrong != nil {
		return nil, nil
	}
	for _, name := range rules.Files {
		if !filepath.IsAbs(name) && path != "-" {
			name = filepath.Join(filepath.Dir(path), name)
		}
		more, err := queue.ReadFiles(name)
		if err != nil {
			return nil, fmt.Errorf("read the files of the set: %w", err)
		}
		files = append(files, more...)
	}
	return files, nil
}

func statusCommand(a *process.Process) *cobra.Command {
	v, cmd := newSetVerb(a, "status [SET]", "Show the change sets of midstream serve, or one with its members", "status orders-note-1")
	v.waits()
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		var problem error
		if len(args) > 1 || v.wait && len(args) == 0 {
			_, problem = one(args, "one change set")
		}
		if err := v.begin("status", problem); err != nil {
			return err
		}
		if len(args) == 1 {
			view, err := v.client.Get(ctx, args[0])
			if err != nil {
				return exit.Unanswered(ctx, err, v.service.At)
			}
			return v.end(ctx, view)
		}
		list, err := v.client.List(ctx)
		if err != nil {
			return exit.Unanswered(ctx, err, v.service.At)
		}
		for _, view := range list {
			v.tell(view)
		}
		if len(list) == 0 && !v.json {
			fmt.Fprintln(a.Stdout, "There is no change set.")
		}
		return nil
	})
	return cmd
}

// tell prints a set.
func (v *setVerb) tell(view sets.View) {
	if v.json {
		v.app.Record(view)
		return
	}
	fmt.Fprint(v.app.Stdout, escape.Text(toldSet(view)))
}

const (
	// waitEvery is the time between two questions of --wait, and absence how long the service may be away meanwhile.
	waitEvery = time.Second
	absence   = 5 * time.Minute
)

// end prints a set, after its end with --wait.
func (v *setVerb) end(ctx context.Context, view sets.View) error {
	if !v.wait {
		v.tell(view)
		return nil
	}
	heard, line := time.Now(), ""
	for !rests(view) {
		if now := lineOf(view); now != line && !v.json {
			line = now
			fmt.Fprintln(v.app.Stderr, "midstream: "+escape.Line(line))
		}
		select {
		case <-ctx.Done():
			return &exit.Error{Code: exit.Stopped, Err: errors.New("stopped waiting for set " + view.ID),
				Left: "the set stays with the service, and its runs continue", Next: "midstream fleet status  " + view.ID + " --wait follows it again"}
		case <-time.After(waitEvery):
		}
		next, err := v.client.Get(ctx, view.ID)
		switch {
		case err == nil:
			view, heard = next, time.Now()
		case ctx.Err() != nil || !queue.Away(err) || time.Since(heard) > absence:
			return exit.Unanswered(ctx, err, v.service.At)
		}
	}
	v.tell(view)
	return exitOf(view)
}

// rests reports whether a set has ended, or does not go on without a person.
func rests(view sets.View) bool {
	phase := rollout.Phase(view.State)
	return phase.Ended() || phase == rollout.PhaseStopped && view.Work == 0 || phase == rollout.PhaseChecking && len(misfits(view)) > 0 ||
		phase == rollout.PhaseUndoing && view.Counts[string(rollout.StepStuck)] > 0 && view.Work == 0
}

// misfits are the members whose plan does not fit.
func misfits(view sets.View) (names []string) {
	for _, m := range view.Members {
		if m.Misfit() {
			names = append(names, m.Server)
		}
	}
	return names
}

// exitOf is the exit code of a set that rests.
func exitOf(view sets.View) error {
	code := exit.Stopped
	switch rollout.Phase(view.State) {
	case rollout.PhaseFinished, rollout.PhaseUndone:
		return nil
	case rollout.PhaseCancelled:
		code = exit.Aborted
	case rollout.PhaseChecking:
		code = exit.Refused
	}
	return &exit.Error{Code: code, Err: errors.New("set " + view.ID + " is " + view.State + ": " + view.Why), Next: view.Next}
}
