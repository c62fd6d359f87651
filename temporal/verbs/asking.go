package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/help"
	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/queue"
	"midstream/temporal/flow"
)

func (p *Program) submit() *cobra.Command {
	v, cmd := p.newVerb("submit SET.yaml", "Begin a change set", "submit begins a change set (docs/change-sets.md) over the servers of the inventory. "+
		"A set with the same id is never begun twice: submit may be repeated.", 1)
	var folder, command string
	v.checks.Flags.StringVar(&folder, "inventory", "", "folder with an option file for each server; only names and labels are read")
	v.checks.Flags.StringVar(&command, "inventory-command", "", "instead of --inventory: command that prints the servers as JSON (docs/fleet.md)")
	cmd.RunE = p.Verb(func(ctx context.Context, args []string) error {
		set, err := readSet(args[0])
		if (folder == "") == (command == "") {
			err = errors.Join(err, errors.New("name the servers: either --inventory /etc/midstream/servers, or --inventory-command"))
		}
		if err := v.check(err); err != nil {
			return err
		}
		var source inventory.Source = inventory.Folder(folder)
		if command != "" {
			source = inventory.Command(command)
		}
		servers, err := inventory.Read(ctx, source)
		if err != nil {
			return v.check(err)
		}
		labels := map[string]map[string]string{}
		for _, s := range servers.Servers {
			labels[s.Name] = s.AllLabels()
		}
		for _, problem := range servers.Problems {
			err = errors.Join(err, problem) // its labels are not known: it may be a member
		}
		set.Author = queue.ThisUser()
		in, unfit := flow.First(set, labels, flow.Tuning{})
		if err := v.check(err, unfit); err != nil {
			return err
		}
		return v.begin(ctx, set, in)
	})
	return cmd
}

// readSet reads the file of a set.
func readSet(path string) (rollout.Set, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return rollout.Set{}, err
	}
	set, err := changeset.Parse(path, text)
	if err == nil && len(set.Files) > 0 {
		err = fmt.Errorf("%s has files: midstream-fleet takes a statement; write one, or use midstream fleet submit", path)
	}
	return set, err
}

// begin begins the workflow of a set, unless it exists with the same rules.
func (v *verb) begin(ctx context.Context, set rollout.Set, in flow.Input) error {
	c, err := v.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: flow.SetID(set.ID), TaskQueue: flow.Queue, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, Memo: map[string]any{"rules": changeset.Hash(set), "author": set.Author},
	}, flow.SetWorkflow, in)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return v.same(ctx, c, set)
	}
	if err != nil {
		return v.trouble(err)
	}
	_, _ = fmt.Fprintf(v.Stdout, "Set %s has begun. See it: midstream-fleet status %s\n", set.ID, set.ID)
	return nil
}

// same reports whether the set that exists has the rules of another one.
func (v *verb) same(ctx context.Context, c client.Client, set rollout.Set) error {
	described, err := c.DescribeWorkflow(ctx, flow.SetID(set.ID), "")
	if err != nil {
		return v.trouble(err)
	}
	var hash string
	memo := described.Memo.GetFields()["rules"]
	if memo == nil || decode(memo, &hash) != nil || hash != changeset.Hash(set) {
		return &exit.Error{Code: exit.NotNow, Err: fmt.Errorf("there is a set %s with other rules", set.ID), Left: "nothing was changed",
			Next: "give this set another id, or look at the other one: midstream-fleet status " + set.ID}
	}
	_, _ = fmt.Fprintf(v.Stdout, "Set %s exists with the same rules. See it: midstream-fleet status %s\n", set.ID, set.ID)
	return nil
}

// requests are the verbs of persons.
func (p *Program) requests() (all []*cobra.Command) {
	for _, r := range []struct {
		ask       rollout.Ask
		arguments string
	}{
		{rollout.AskApprove, "SET WAVE"}, {rollout.AskRelease, "SET"}, {rollout.AskAgain, "SET SERVER"}, {rollout.AskSkip, "SET SERVER"},
		{rollout.AskCancel, "SET"}, {rollout.AskUndo, "SET"},
	} {
		about := strings.TrimPrefix(help.Text("fleet "+string(r.ask)), "Fleet ") // the requests are those of midstream fleet
		if r.ask == rollout.AskApprove {
			about, _, _ = strings.Cut(about, "\n\n") // the rest is about serve
		}
		v, cmd := p.newVerb(string(r.ask)+" "+r.arguments, r.ask.Short(), about, len(strings.Fields(r.arguments)))
		var wave, server string
		if r.ask == rollout.AskRelease {
			v.checks.Flags.StringVar(&wave, "wave", "", "only the members of this wave")
			v.checks.Flags.StringVar(&server, "server", "", "only this member")
		}
		cmd.RunE = p.Verb(func(ctx context.Context, args []string) error {
			if err := v.check(); err != nil {
				return err
			}
			switch r.ask {
			case rollout.AskApprove:
				wave = args[1]
			case rollout.AskAgain, rollout.AskSkip:
				server = args[1]
			}
			return v.ask(ctx, args[0], r.ask, flow.Request{ID: uuid.NewString(), Wave: wave, Server: server, By: queue.ThisUser()})
		})
		all = append(all, cmd)
	}
	return all
}

// answerWithin is how long a verb waits for the answer of a worker.
const answerWithin = 15 * time.Second

// ask sends a request, and prints the answer.
func (v *verb) ask(ctx context.Context, set string, ask rollout.Ask, r flow.Request) error {
	c, err := v.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SignalWorkflow(ctx, flow.SetID(set), "", string(ask), r); err != nil {
		return v.trouble(err)
	}
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		_, carried, err := statusOf(limited, c, set)
		if err == nil {
			handled, refused := carried.Answer(r.ID)
			switch {
			case handled && refused == "":
				_, _ = fmt.Fprintf(v.Stdout, "Set %s takes the %s.\n", set, ask)
				return nil
			case handled:
				return &exit.Error{Code: exit.NotNow, Err: fmt.Errorf("the %s is refused: %s", ask, escape.Line(refused)), Left: "nothing was changed",
					Next: "look at the set: midstream-fleet status " + set}
			}
		}
		select {
		case <-limited.Done():
			return &exit.Error{Code: exit.Failed, Err: fmt.Errorf("no worker has answered the %s within %s", ask, answerWithin),
				Left: "the request is stored, and counts once a worker runs", Next: "start a worker (midstream-fleet worker), and look at the set: midstream-fleet status " + set}
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *Program) freeze() *cobra.Command {
	v, cmd := p.newVerb("freeze SET", "Hold starts, swaps and undos of a set", "freeze holds starts, swaps and undos: of one server, of the servers that a selector takes, or of the set.\n"+
		"midstream freeze holds a server for all who ask its service.", 1)
	f := flow.Frozen{}
	v.frozen(&f)
	var last time.Duration
	v.checks.Duration(&last, "for", 0, time.Second, 365*24*time.Hour, "how long it lasts; without it, until unfreeze")
	v.checks.Flags.StringVar(&f.Reason, "reason", "", "why, for the others (required)")
	cmd.RunE = p.Verb(func(ctx context.Context, args []string) error {
		var missing error
		if f.Reason == "" {
			missing = errors.New("--reason is missing: others must know why their change waits")
		}
		if last > 0 {
			f.Until = time.Now().UTC().Add(last)
		}
		f.ID, f.By = uuid.NewString(), queue.ThisUser()
		return v.signalFreeze(ctx, args[0], flow.FreezeSignal, f, missing)
	})
	return cmd
}

func (p *Program) unfreeze() *cobra.Command {
	v, cmd := p.newVerb("unfreeze SET", "End a freeze of a set", "unfreeze ends the freeze of the same servers.", 1)
	f := flow.Frozen{}
	v.frozen(&f)
	cmd.RunE = p.Verb(func(ctx context.Context, args []string) error {
		return v.signalFreeze(ctx, args[0], flow.UnfreezeSignal, f, nil)
	})
	return cmd
}

// frozen registers the flags that name what is frozen.
func (v *verb) frozen(f *flow.Frozen) {
	v.checks.Flags.StringVar(&f.Server, "server", "", "only this server")
	v.checks.Flags.StringVar(&f.Selector, "selector", "", "only the servers with these labels, such as cell=eu1")
}

func (v *verb) signalFreeze(ctx context.Context, set, signal string, f flow.Frozen, problem error) error {
	if f.Server != "" && f.Selector != "" {
		problem = errors.Join(problem, errors.New("use --server or --selector, not both"))
	}
	if f.Selector != "" {
		if _, err := selector.Parse(f.Selector); err != nil {
			problem = errors.Join(problem, fmt.Errorf("--selector %s: %w", f.Selector, err))
		}
	}
	if err := v.check(problem); err != nil {
		return err
	}
	c, err := v.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SignalWorkflow(ctx, flow.SetID(set), "", signal, f); err != nil {
		return v.trouble(err)
	}
	_, _ = fmt.Fprintf(v.Stdout, "The %s of %s in set %s is stored.\n", signal, f, set)
	return nil
}
