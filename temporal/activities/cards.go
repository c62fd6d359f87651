package activities

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"midstream/temporal/flow"
)

// starter is the part of a client that starts workflows by a signal.
type starter interface {
	SignalWithStartWorkflow(
		ctx context.Context, id, signal string, arg any, options client.StartWorkflowOptions, workflow any, args ...any,
	) (client.WorkflowRun, error)
}

// Worker runs the workflows, and their cards.
type Worker struct{ Client starter }

// Register registers the workflows and the activity.
func (w Worker) Register(r worker.Registry) {
	r.RegisterWorkflowWithOptions(flow.Set, workflow.RegisterOptions{Name: flow.SetWorkflow})
	r.RegisterWorkflowWithOptions(flow.Member, workflow.RegisterOptions{Name: flow.CardWorkflow})
	r.RegisterActivityWithOptions(w.Cards, activity.RegisterOptions{Name: flow.CardActivity})
}

// Cards shows the state of members: each has a workflow, which is begun once there is something to show.
func (w Worker) Cards(ctx context.Context, cards []flow.Card) error {
	defer alive(ctx)()
	for _, c := range cards {
		s := flow.Search()
		_, err := w.Client.SignalWithStartWorkflow(ctx, flow.CardID(c.Set, c.Server), flow.CardSignal, c, client.StartWorkflowOptions{
			TaskQueue: flow.Queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			TypedSearchAttributes: temporal.NewSearchAttributes(
				s.Set.ValueSet(c.Set), s.Wave.ValueSet(c.Wave), s.Server.ValueSet(c.Server), s.State.ValueSet(string(c.State)),
			),
		}, flow.CardWorkflow)
		if err != nil {
			return err
		}
	}
	return nil
}
