package verbs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"midstream/internal/fleet/rollout"
	"midstream/internal/mysql/escape"
	"midstream/temporal/flow"
)

func decode(payload *common.Payload, into any) error {
	return converter.GetDefaultDataConverter().FromPayload(payload, into)
}

func (p *Program) status() *cobra.Command {
	v, cmd := p.newVerb("status [SET]", "Show a set, or list the sets", "status shows waves, members and what the set waits for. Without a set, it lists all that Temporal keeps.", -1)
	var asJSON, all bool
	v.checks.Bool(&asJSON, "", "json", "print one JSON object")
	v.checks.Bool(&all, "", "verbose", "list every member")
	cmd.RunE = p.Verb(func(ctx context.Context, args []string) error {
		var problem error
		if len(args) > 1 {
			problem = fmt.Errorf("expected one set, got %d arguments", len(args))
		}
		if err := v.check(problem); err != nil {
			return err
		}
		c, err := v.connect(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if len(args) == 0 {
			return v.list(ctx, c)
		}
		status, carried, err := statusOf(ctx, c, args[0])
		if err != nil {
			return v.trouble(err)
		}
		view := viewOf(args[0], status, carried)
		if asJSON {
			v.Record(view)
			return nil
		}
		view.text(v.Stdout, all)
		return nil
	})
	return cmd
}

// statusOf asks the workflow of a set.
func statusOf(ctx context.Context, c client.Client, set string) (s flow.Status, carried flow.Carried, err error) {
	value, err := c.QueryWorkflow(ctx, flow.SetID(set), "", flow.StatusQuery)
	if err != nil {
		return s, carried, err
	}
	if err := value.Get(&s); err != nil {
		return s, carried, err
	}
	return s, carried, s.Packed.Unpack(&carried)
}

// View is a set as status prints it in JSON.
type View struct {
	Set     string          `json:"set"`
	State   rollout.Phase   `json:"state"`
	Why     string          `json:"why"`
	Author  string          `json:"author"`
	Rules   string          `json:"rules"`
	Waves   []WaveView      `json:"waves"`
	Members []MemberView    `json:"members"`
	Freezes []string        `json:"freezes"`
	Away    []string        `json:"agents_away"`
	Joined  []string        `json:"joined"`   // servers that fit the selector, and came after the set had begun
	Wrong   []string        `json:"problems"` // of the inventories of the agents
	Result  *rollout.Result `json:"result"`   // null before the end
}

// WaveView is a wave.
type WaveView struct {
	Name       string               `json:"name"`
	State      rollout.WavePhase    `json:"state"`
	ApprovedBy string               `json:"approved_by"`
	Members    map[rollout.Step]int `json:"members"`
}

// MemberView is a member.
type MemberView struct {
	Server  string       `json:"server"`
	Wave    string       `json:"wave"`
	State   rollout.Step `json:"state"`
	Attempt int          `json:"attempt"`
	Why     string       `json:"why"`
	Gone    bool         `json:"gone"` // the server has left the inventory
}

func viewOf(set string, status flow.Status, c flow.Carried) View {
	v := View{
		Set: set, State: c.State.Phase, Why: c.State.Why, Author: status.Rules.Author, Rules: status.Rules.Text,
		Away: status.Away, Joined: status.Joined,
	}
	for i := range c.State.Waves {
		w := &c.State.Waves[i]
		v.Waves = append(v.Waves, WaveView{w.Name, w.Phase, w.ApprovedBy, map[rollout.Step]int{}})
	}
	for i := range c.State.Members {
		m := &c.State.Members[i]
		v.Waves[m.Wave].Members[m.Step]++
		why := m.Why
		if m.Step == rollout.StepPlanned || m.Step == rollout.StepFailed && m.Outcome != rollout.OutcomeFit {
			why = cmp.Or(c.Plans[m.Server].Why, why, strings.TrimPrefix(string(m.Outcome), string(rollout.OutcomeFit)))
		}
		if trouble := status.Trouble[m.Server]; trouble != "" {
			why = "the agent: " + trouble
		}
		_, known := c.Worlds[flow.QueueOf(m.Labels)]
		if m.Gone && known && why == "" {
			why = "it has left the inventory, and does not start"
		}
		v.Members = append(v.Members, MemberView{m.Server, v.Waves[m.Wave].Name, m.Step, m.Attempt, why, m.Gone && known})
	}
	for _, f := range c.Freezes {
		v.Freezes = append(v.Freezes, frozenText(f, f.String()))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Worlds)) {
		for _, f := range c.Worlds[name].Freezes {
			v.Freezes = append(v.Freezes, frozenText(f, f.String()+" of the service of queue "+name))
		}
		for _, problem := range c.Worlds[name].Problems {
			v.Wrong = append(v.Wrong, "inventory of queue "+name+": "+problem)
		}
	}
	if c.State.Phase.Ended() {
		r := c.State.Result()
		v.Result = &r
	}
	return v
}

// frozenText names a freeze, who made it, why, and its end.
func frozenText(f flow.Frozen, what string) string {
	text := fmt.Sprintf("%s, by %s: %s", what, f.By, f.Reason)
	if !f.Until.IsZero() {
		text += " (until " + f.Until.Format(time.RFC3339) + ")"
	}
	return text
}

// mostShown is the number of members that status lists without --verbose.
const mostShown = 20

// text prints the view. Texts of others are escaped.
func (v View) text(to io.Writer, all bool) {
	line := func(format string, args ...any) {
		for i, a := range args {
			if text, is := a.(string); is {
				args[i] = escape.Line(text)
			}
		}
		_, _ = fmt.Fprintf(to, format+"\n", args...)
	}
	line("%s: %s", v.Set, string(v.State))
	if v.Why != "" {
		line("  %s", v.Why)
	}
	for _, w := range v.Waves {
		var counts []string
		for _, step := range steps() {
			if n := w.Members[step]; n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, step))
			}
		}
		line("  wave %s: %s (%s)", w.Name, string(w.State), strings.Join(counts, ", "))
		if w.State == rollout.WaveToApprove {
			line("    approve it: midstream-fleet approve %s %s", v.Set, w.Name)
		}
	}
	for _, f := range v.Freezes {
		line("  frozen: %s", f)
	}
	for _, name := range v.Away {
		line("  the agents of queue %s do not answer: start one there (midstream-fleet agent --queue %s)", name, name)
	}
	for _, problem := range v.Wrong {
		line("  %s", problem)
	}
	for i, name := range v.Joined {
		if i == mostShown {
			line("  %d more servers are new", len(v.Joined)-i)
			break
		}
		line("  new server %s fits the selector, and is no member: submit a set for it", name)
	}
	shown := v.Members
	if !all {
		shown = slices.DeleteFunc(slices.Clone(shown), func(m MemberView) bool { return m.Why == "" || m.State == rollout.StepDone })
	}
	for i, m := range shown {
		if i == mostShown && !all {
			line("  %d more: midstream-fleet status %s --verbose", len(shown)-i, v.Set)
			break
		}
		line("  %s (%s): %s %s", m.Server, m.Wave, string(m.State), m.Why)
	}
	if v.Result != nil {
		line("  %d servers have the change, %d do not, of %d it is not known.", len(v.Result.Changed), len(v.Result.Unchanged), len(v.Result.Unknown))
	}
}

// steps are in the order in which members go through them.
func steps() []rollout.Step {
	return []rollout.Step{
		rollout.StepPlanned, rollout.StepStarted, rollout.StepReady, rollout.StepReleased,
		rollout.StepRetrying, rollout.StepUnknown, rollout.StepFailed,
		rollout.StepUndoing, rollout.StepStuck, rollout.StepDone, rollout.StepApplied,
		rollout.StepSkipped, rollout.StepWithdrawn, rollout.StepUndone,
	}
}

// list prints the sets that Temporal keeps.
func (v *verb) list(ctx context.Context, c client.Client) error {
	table := tabwriter.NewWriter(v.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SET\tSTATE\tWAVE\tBEGAN")
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + flow.SetWorkflow + "'", PageSize: 200}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return v.trouble(err)
		}
		for _, e := range page.GetExecutions() {
			s := flow.Search()
			text := func(name string) (text string) {
				if p := e.GetSearchAttributes().GetIndexedFields()[name]; p != nil && decode(p, &text) != nil {
					return "?"
				}
				return escape.Line(text)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", cmp.Or(text(s.Set.GetName()), escape.Line(e.GetExecution().GetWorkflowId())),
				cmp.Or(text(s.State.GetName()), "no worker yet"), text(s.Wave.GetName()), e.GetStartTime().AsTime().Format(time.RFC3339))
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return table.Flush()
		}
	}
}
