package verbs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/process"
	"midstream/temporal/activities"
	"midstream/temporal/dev"
	"midstream/temporal/flow"
)

func (p *Program) worker() *cobra.Command {
	v, cmd := p.newVerb("worker", "Decide: run the workflows of change sets", "worker runs the workflows of all sets of the namespace. "+
		"Start two or more: any one takes over from another.\nIt registers the search attributes if they are missing. It has no access to a database.", 0)
	cmd.RunE = p.Verb(func(ctx context.Context, _ []string) error {
		if err := v.check(); err != nil {
			return err
		}
		c, err := v.connectLogged(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := v.searchable(ctx, c); err != nil {
			return err
		}
		w := worker.New(c, flow.Queue, worker.Options{WorkerStopTimeout: 5 * time.Second})
		activities.Worker{Client: c}.Register(w)
		return v.serve(ctx, w, "The worker decides for the sets of namespace "+v.namespace+".")
	})
	return cmd
}

// serve runs a worker until ctx ends.
func (v *verb) serve(ctx context.Context, w worker.Worker, greeting string) error {
	if err := w.Start(); err != nil {
		return v.trouble(err)
	}
	_, _ = fmt.Fprintln(v.Stdout, greeting)
	<-ctx.Done()
	w.Stop()
	return nil
}

// searchable registers the search attributes that are missing.
func (v *verb) searchable(ctx context.Context, c client.Client) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: v.namespace})
	if err != nil {
		return v.trouble(err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range flow.Search().Names() {
		if _, has := have.GetCustomAttributes()[name]; !has {
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	add := &operatorservice.AddSearchAttributesRequest{Namespace: v.namespace, SearchAttributes: missing}
	_, err = c.OperatorService().AddSearchAttributes(ctx, add)
	if err != nil {
		return &exit.Error{Code: exit.Refused, Err: fmt.Errorf("register search attributes: %w", err), Left: "no worker runs",
			Next: "let an operator of Temporal register the missing ones of MidstreamSet, MidstreamWave, MidstreamServer and MidstreamState, of type Keyword"}
	}
	return nil
}

// Agent has the flags of an agent.
type Agent struct {
	Program   *process.Process
	Queue     string
	Service   string
	Token     process.TokenFlag
	TLSCA     string
	Inventory string
	Midstream string
}

func (p *Program) agent() *cobra.Command {
	v, cmd := p.newVerb("agent", "Obey: drive a midstream serve for change sets", "agent runs next to a midstream serve, and does for it what the sets order. "+
		"It only connects outwards: to Temporal, and to that service.\nIt serves the servers whose label queue (or cell, without that) is --queue. "+
		"Several agents with the same --queue must ask the same service.", 0)
	a := Agent{Program: p.Process}
	f := v.checks.Flags
	f.StringVar(&a.Queue, "queue", "default", "label queue (or cell) of the servers that it serves")
	f.StringVar(&a.Service, "service", "http://"+process.UsualListen, "URL of midstream serve")
	a.Token.Register(&v.checks)
	f.StringVar(&a.TLSCA, "tls-ca", "", "PEM file of the certificates that sign the service's certificate, in addition to those of this machine")
	f.StringVar(&a.Inventory, "inventory", "", "folder with an option file for each server, for the fleet plan (docs/fleet.md)")
	f.StringVar(&a.Midstream, "midstream", "midstream", "program that makes the fleet plan")
	cmd.RunE = p.Verb(func(ctx context.Context, _ []string) error {
		var missing error
		if a.Queue == "" {
			missing = errors.New("--queue is empty: name the label queue or cell of the servers")
		}
		if err := v.check(missing); err != nil {
			return err
		}
		members, err := p.Members(a)
		if err != nil {
			return v.check(err)
		}
		c, err := v.connectLogged(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		w := worker.New(c, flow.AgentQueue(a.Queue), worker.Options{DisableWorkflowWorker: true, WorkerStopTimeout: 5 * time.Second})
		(&activities.Agent{Members: members, Client: c}).Register(w)
		return v.serve(ctx, w, "The agent serves the servers of queue "+a.Queue+".")
	})
	return cmd
}

func (p *Program) dev() *cobra.Command {
	var o dev.Options
	cmd := &cobra.Command{Use: "dev", Short: "A Temporal server in one process, to try it",
		Long: "dev runs a Temporal server with its state in one file of SQLite, which survives a kill. It is for trials and tests: anyone who reaches it may do anything.",
		Args: cobra.NoArgs}
	cmd.Flags().StringVar(&o.File, "file", "midstream-fleet.db", "database; it is made if it does not exist")
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:7233", "address")
	cmd.Flags().StringVar(&o.Namespace, "namespace", "default", "namespace, which is made if it does not exist")
	cmd.RunE = p.Verb(func(ctx context.Context, _ []string) error {
		var err error
		if o.File, err = filepath.Abs(o.File); err != nil {
			return err
		}
		err = dev.Run(ctx, o, func() { _, _ = fmt.Fprintln(p.Stdout, "Temporal answers at "+o.Listen+".") })
		if err != nil {
			return &exit.Error{Code: exit.Failed, Err: err, Left: "the file " + o.File + " keeps its state", Next: "check --listen and --file, then run the same command again"}
		}
		return nil
	})
	return cmd
}
