package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/queue"
	"midstream/temporal/activities"
	"midstream/temporal/flow"
)

// served are the members of a midstream serve.
type served struct {
	client    *queue.Client
	midstream string
	inventory string

	mu      sync.Mutex
	watched *inventory.Watched // nil before it was read
	read    time.Time
}

// MembersOf are the members that an agent serves.
func MembersOf(a Agent) (activities.Members, error) {
	at, err := url.Parse(a.Service)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		err = fmt.Errorf("--service %s: must be a URL that begins with http:// or https://", a.Service)
	}
	if a.Inventory == "" {
		err = errors.Join(err, errors.New("--inventory is missing: the fleet plan needs the option files of the servers"))
	}
	if _, lacking := exec.LookPath(a.Midstream); lacking != nil {
		err = errors.Join(err, fmt.Errorf("--midstream: %w", lacking))
	}
	trusting, untrusted := queue.Trusting(a.TLSCA)
	if untrusted != nil {
		err = errors.Join(err, fmt.Errorf("--tls-ca %s: %w", a.TLSCA, untrusted))
	}
	if err != nil {
		return nil, err
	}
	client := &queue.Client{At: a.Service, HTTP: trusting, Token: func() (string, error) { return a.Token.Read(a.Program) }}
	return &served{client: client, midstream: a.Midstream, inventory: a.Inventory}, nil
}

// Do gives a member its order.
func (s *served) Do(ctx context.Context, set rollout.Set, action rollout.Action) error {
	return (&members.Fleet{Set: set, Queue: s.client}).Do(ctx, action)
}

// Reports has the reports of the members of a set.
func (s *served) Reports(ctx context.Context, set rollout.Set) (reports []rollout.Report, err error) {
	list, err := s.client.Members(ctx, set.ID)
	for _, m := range list {
		reports = append(reports, members.ReportOf(m))
	}
	return reports, err
}

// readEvery is the time between two readings of the inventory, as in midstream serve.
const readEvery = 5 * time.Second

// World has the servers of the inventory, and the freezes of the service.
func (s *served) World(ctx context.Context) (w flow.World, err error) {
	freezes, err := s.client.Freezes(ctx)
	if err != nil {
		return w, err
	}
	for _, f := range freezes {
		freeze := members.FreezeOf(f)
		by, reason := flow.Cut(f.By), flow.Cut(f.Reason)
		w.Freezes = append(w.Freezes, flow.Frozen{Server: freeze.Server, Until: freeze.Until, By: by, Reason: reason})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched == nil {
		watched, err := inventory.Watch(ctx, inventory.Folder(s.inventory))
		if err != nil {
			w.Problems = append(w.Problems, flow.Cut(err.Error()))
			return w, ctx.Err()
		}
		s.watched, s.read = watched, time.Now()
	}
	if time.Since(s.read) >= readEvery {
		s.watched.Again(ctx)
		s.read = time.Now()
	}
	now := s.watched.Now()
	w.Servers = map[string]map[string]string{}
	for _, server := range now.Servers {
		w.Servers[server.Name] = server.AllLabels()
	}
	if failed := s.watched.Failed(); failed != "" {
		w.Problems = append(w.Problems, flow.Cut(failed))
	}
	for _, p := range now.Problems {
		w.Problems = append(w.Problems, flow.Cut(p.Error()))
	}
	return w, nil
}

// Plan plans servers by midstream fleet plan. Servers that have the change already are always found.
func (s *served) Plan(ctx context.Context, set rollout.Set, servers []string) (plans []flow.Planned, err error) {
	args := []string{"fleet", "plan", "server in (" + strings.Join(servers, ",") + ")", set.Statement,
		"--inventory=" + s.inventory, "--skip-applied", "--allow-drift", "--json"}
	for name, value := range members.Options(set) {
		if name != "hold" { // of a run
			args = append(args, "--option="+name+"="+value)
		}
	}
	cmd := exec.CommandContext(ctx, s.midstream, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run() // its exit code is about the servers
	var report fleetplan.Report
	if json.Unmarshal(out.Bytes(), &report) != nil || len(report.Members) == 0 {
		return nil, fmt.Errorf("midstream fleet plan: %w: %s", cause(err), flow.Cut(strings.TrimSpace(complaint.String())))
	}
	for i := range report.Members {
		m := &report.Members[i]
		if slices.Contains(servers, m.Server) {
			p := flow.Planned{Server: m.Server, Outcome: outcomeOf(m.Outcome), Definition: m.Fingerprint, Why: why(&report, m)}
			plans = append(plans, p)
		}
	}
	return plans, nil
}

func cause(err error) error {
	if err == nil {
		return errors.New("its output cannot be read")
	}
	return err
}

// outcomeOf is an outcome for the decisions; a server that was not reached has none.
func outcomeOf(o fleetplan.Outcome) rollout.Outcome {
	switch o {
	case fleetplan.Fits:
		return rollout.OutcomeFit
	case fleetplan.Done:
		return rollout.OutcomeApplied
	case fleetplan.Failed:
		return ""
	}
	return rollout.OutcomeRefused
}

// why is why a server does not fit.
func why(r *fleetplan.Report, m *fleetplan.Answer) string {
	for _, g := range r.Groups {
		if m.Outcome != fleetplan.Fits && slices.Contains(g.Servers, m.Server) {
			return g.Reason
		}
	}
	for _, d := range r.Drift {
		if slices.Contains(d.Servers, m.Server) {
			return "another definition: has " + strings.Join(d.Has, ", ") + "; lacks " + strings.Join(d.Lacks, ", ")
		}
	}
	return ""
}
