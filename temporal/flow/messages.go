package flow

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// Rules are the rules of a set, as agents and workers read them.
type Rules struct {
	// Text is the normal form of the set (changeset.Format).
	Text string
	// Author submitted the set.
	Author string
}

// Set reads the rules.
func (r Rules) Set() (rollout.Set, error) {
	set, err := changeset.Parse("the set", []byte(r.Text))
	set.Author = r.Author
	return set, err
}

// Input begins a run of the workflow: of a new set, or of one that continues.
type Input struct {
	Rules  Rules
	Packed Packed // a Carried
	Tuning Tuning
	// Run counts the runs of a set.
	Run int
}

// Tuning has the times of the workflow; tests shorten them. A zero is the default.
type Tuning struct {
	// Resend is the time after which an order is sent again that no report has confirmed; it doubles up to ten times of it. 30 s.
	Resend time.Duration
	// Replan is the time after which servers are planned again that do not fit. 5 min.
	Replan time.Duration
	// Longest is the longest time between two looks at the clock. 1 h.
	Longest time.Duration
	// Events is the length of the history at which the workflow continues as new. 8,000; Temporal ends it at 51,200.
	Events int
}

// Defaults fills in what is left open.
func (t Tuning) Defaults() Tuning {
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{{&t.Resend, 30 * time.Second}, {&t.Replan, 5 * time.Minute}, {&t.Longest, time.Hour}} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	if t.Events == 0 {
		t.Events = 8000
	}
	return t
}

// Carried is what one run of the workflow hands to the next.
type Carried struct {
	State   rollout.State
	Freezes []Frozen
	// Number is that of the last request, and Asked has those whose answers are kept.
	Number uint64
	Asked  []Asked
	// Plans has what the plans found, by server.
	Plans map[string]Planned
	// Worlds has what the agents know, by their names.
	Worlds map[string]World
	// Shown has what the cards show, and Shows counts what was sent to them.
	Shown map[string]rollout.Step
	Shows uint64
}

// Asked is a request that was taken, by the id that its sender gave it.
type Asked struct {
	ID     string
	Number uint64
}

// Request is the signal of a person.
type Request struct {
	// ID is made by the sender: the same request twice counts once.
	ID           string
	Wave, Server string
	By           string
}

// Frozen is a freeze: of one server, of the servers that a selector takes, or of all.
type Frozen struct {
	ID       string
	Server   string
	Selector string
	Until    time.Time
	By       string
	Reason   string
}

// Freeze is the freeze for the decisions.
func (f Frozen) Freeze() (rollout.Freeze, error) {
	out := rollout.Freeze{Server: f.Server, Until: f.Until}
	if f.Selector == "" {
		return out, nil
	}
	var err error
	out.Selector, err = selector.Parse(f.Selector)
	return out, err
}

// Planned is the plan of one server.
type Planned struct {
	Server  string
	Outcome rollout.Outcome // empty if the server was not reached
	// Definition identifies the table's definition; empty if it is not known.
	Definition string
	// Why is why the server does not fit, for people: at most LongestWhy bytes.
	Why string
}

// Plan asks an agent for plans.
type Plan struct {
	Rules   Rules
	Servers []string
}

// Order sends orders to an agent.
type Order struct {
	Rules   Rules
	Actions []rollout.Action
}

// Ordered is what came of it: the errors, by the keys of the actions, and what the members reported then.
type Ordered struct {
	Errors  map[string]string
	Reports []rollout.Report
}

// Watch asks an agent for the reports of a set, with the versions that are known.
type Watch struct {
	Rules Rules
	// Agents is their name.
	Agents string
	// Known has all members of these agents.
	Known map[string]uint64
}

// World is what agents know of their servers, in addition to the members of a set.
type World struct {
	// Servers has the labels of the servers in the inventory; nil: the inventory cannot be read, and nothing has changed.
	Servers map[string]map[string]string
	// Freezes are those of the service. Without a server, a freeze is for all servers of these agents.
	Freezes []Frozen
	// Problems are errors in the inventory, for people.
	Problems []string
}

// Reported are reports, by a signal. Hello is the first one of a watch: the agent is there.
type Reported struct {
	Agents  string
	Hello   bool
	Reports []rollout.Report
	World   Packed // a World; empty: no news
}

// Card is the state of one member, to be seen.
type Card struct {
	Set, Wave, Server string
	State             rollout.Step
	Attempt           int
	Why               string
	// Number grows; an older card changes nothing. After the last one nothing comes.
	Number uint64
	Last   bool
}

// Status is the answer to StatusQuery.
type Status struct {
	Rules  Rules
	Packed Packed // a Carried
	Run    int
	// Away are the names of the agents that have not confirmed an order for a while, or have not been there yet.
	Away []string
	// Joined are servers that fit the selector, and came into the inventory after the set had begun.
	Joined []string
	// Trouble has why orders could not be given, by server.
	Trouble map[string]string
}

// Result is that of the workflow.
type Result struct {
	Phase rollout.Phase
	// Changed is the number of servers that have the change, and Unchanged and Unknown name the others: at most 1,000 each.
	Changed            int
	Unchanged, Unknown []string
}

// Bounds of single messages. A payload of Temporal has at most 2 MB.
const (
	MostPlans   = 50  // servers of a plan
	MostOrders  = 100 // orders of an activity
	MostReports = 200 // reports of a signal
	MostCards   = 100
	LongestWhy  = 300 // bytes
	// MostMembers is the most members of a set.
	MostMembers = 5000
	mostNames   = 1000
	mostAsked   = 100
	mostFreezes = 50
	// MostProblems are of the inventory of an agent.
	MostProblems = 20
)

// Cut shortens a text to LongestWhy.
func Cut(text string) string {
	if len(text) <= LongestWhy {
		return text
	}
	return strings.ToValidUTF8(text[:LongestWhy], "") + "..."
}

// Packed is a value in JSON, compressed: 2,000 members have 900 KB without that.
type Packed []byte

// Pack packs a value.
func Pack(value any) (Packed, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(value); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unpack reads a packed value.
func (p Packed) Unpack(into any) error {
	z, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return fmt.Errorf("the state of the set cannot be read: %w", err)
	}
	return json.NewDecoder(io.LimitReader(z, 64<<20)).Decode(into)
}

// First is the input of a new set.
func First(set rollout.Set, servers map[string]map[string]string, tuning Tuning) (Input, error) {
	state, err := rollout.Begin(set, servers)
	if err != nil {
		return Input{}, err
	}
	if n := len(state.Members); n > MostMembers {
		return Input{}, fmt.Errorf("the set has %d members, and may have %d: divide it by another selector", n, MostMembers)
	}
	if err := members.Check(set, state); err != nil {
		return Input{}, err
	}
	packed, err := Pack(Carried{State: state})
	return Input{Rules: Rules{Text: changeset.Format(set), Author: set.Author}, Packed: packed, Tuning: tuning}, err
}
