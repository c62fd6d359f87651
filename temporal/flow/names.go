package flow

import (
	"go.temporal.io/sdk/temporal"

	"midstream/internal/fleet/rollout"
)

// Names that the parties share. The numbers change with the decisions: a worker of another version leaves a set alone
// that it would decide in another way.
const (
	SetWorkflow  = "midstream-set-1"
	CardWorkflow = "midstream-member-1"
	PlanActivity = "midstream-plan"
	// OrderActivity sends orders, and WatchActivity sends back what members report.
	OrderActivity = "midstream-order"
	WatchActivity = "midstream-watch"
	// CardActivity is for the worker itself.
	CardActivity = "midstream-cards"
	// WorldsVersion names what a set of an earlier build lacks: what agents know of their servers, and timers that are kept.
	WorldsVersion = "worlds"
	// StatusQuery returns a Status.
	StatusQuery = "status"
	// ReportSignal has Reported, FreezeSignal has Frozen. The signals of persons are rollout's requests, by their names.
	ReportSignal   = "midstream-reports"
	FreezeSignal   = "freeze"
	UnfreezeSignal = "unfreeze"
	// CardSignal has a Card.
	CardSignal = "state"
)

// Queue is the task queue of the workflows.
const Queue = "midstream-sets"

// The label that names the agent of a server, the label that does so without it, and the name without both.
const (
	LabelQueue   = "queue"
	defaultQueue = "default"
)

// AgentQueue is the task queue of the agents with a name.
func AgentQueue(name string) string { return "midstream-agent-" + name }

// QueueOf is the name of the agents that serve a server with these labels.
func QueueOf(labels map[string]string) string {
	for _, label := range []string{LabelQueue, rollout.LabelCell} {
		if name := labels[label]; name != "" {
			return name
		}
	}
	return defaultQueue
}

// SetID is the id of a set's workflow.
func SetID(set string) string { return "midstream-set/" + set }

// CardID is the id of a member's workflow.
func CardID(set, server string) string { return "midstream-member/" + set + "/" + server }

// Asks are the requests of persons, each with a signal of its name, in the order in which they are read.
func Asks() []rollout.Ask {
	return []rollout.Ask{rollout.AskCancel, rollout.AskSkip, rollout.AskAgain, rollout.AskApprove, rollout.AskRelease, rollout.AskUndo}
}

// Attributes are the search attributes of sets and members: Set and State are of both.
type Attributes struct {
	Set, Wave, Server, State temporal.SearchAttributeKeyKeyword
}

// Search has the search attributes.
func Search() Attributes {
	key := temporal.NewSearchAttributeKeyKeyword
	return Attributes{key("MidstreamSet"), key("MidstreamWave"), key("MidstreamServer"), key("MidstreamState")}
}

// Names are the names of the attributes.
func (a Attributes) Names() []string {
	return []string{a.Set.GetName(), a.Wave.GetName(), a.Server.GetName(), a.State.GetName()}
}
