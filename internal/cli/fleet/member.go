package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/face/summary"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// Question is what each server is asked.
type Question struct {
	Statement string
	Flags     []string // of midstream plan, besides those that reach the server
	// Check looks for rows that do not fit, SkipApplied for servers that have the change.
	Check, SkipApplied    bool
	TimeLimit, CheckLimit time.Duration
}

// Change is the change of one server, as the verb plan has it.
type Change interface {
	// MakePlan makes the plan as midstream plan does. ForRows is of a plan for midstream check.
	MakePlan(ctx context.Context, alter *ddl.Alter, s *session.Server, forRows bool) (*plan.Plan, error)
	// Settings are those of a run of the plan.
	Settings() (plan.Options, migration.Config, operator.Settings)
}

// Member is a server that is asked.
type Member struct {
	Question
	Answer fleetplan.Answer
	Change Change
}

// Ask asks a server that was reached. ctx has no time limit; limited has that of the plan.
func (m *Member) Ask(ctx, limited context.Context, alter *ddl.Alter, s *session.Server) error {
	p, err := m.plan(limited, alter, s)
	if err == nil && p != nil && m.Check && p.Choice.Method != plan.MethodNone {
		err = m.check(ctx, alter, s)
	}
	return err
}

// plan makes the plan, and notes it. There is none if the server has the change already.
func (m *Member) plan(ctx context.Context, alter *ddl.Alter, s *session.Server) (*plan.Plan, error) {
	a := &m.Answer
	version, err := facts.ReadVersion(ctx, s.Pool.DB())
	if err != nil {
		return nil, exit.Unwritten(ctx, err, "")
	}
	a.Version = version.String()
	table, loadErr := schema.Load(ctx, s.Pool.DB(), alter.Table)
	if loadErr == nil { // else the plan reports it
		a.Table = table.Name.Dotted()
		a.Define(desired.Lines(table))
	}
	p, err := m.Change.MakePlan(ctx, alter, s, false)
	options, cfg, settings := m.Change.Settings()
	if err != nil {
		if loadErr != nil || !m.SkipApplied || exit.Code(err, false) != exit.Refused {
			return nil, err
		}
		before, applied, askErr := planning.Applied(ctx, s.Planning(), table, alter, options)
		if askErr != nil || !applied {
			return nil, cmp.Or(askErr, err)
		}
		a.Outcome = fleetplan.Done
		a.Define(before)
		return nil, nil
	}
	d := summary.Predict(p, cfg, settings)
	a.Method, a.Why, a.UUID = string(p.Choice.Method), summary.WhyNot(p.Choice), p.Server.UUID
	a.ElapsedMS, a.LeastMS, a.MostMS, a.LockedMS = record.MSOf(d.Elapsed), record.MSOf(d.Least), record.MSOf(d.Most), record.MSOf(d.Locked)
	a.Rows, a.DiskBytes, a.Warnings = d.Rows, d.Disk, record.Risks(p.Risks)
	if p.Choice.Method == plan.MethodNone {
		a.Outcome, a.Why = fleetplan.Done, ""
		if m.SkipApplied {
			a.Define(nil) // what it was before is not known
		}
	}
	return p, nil
}

// check looks for rows that do not fit.
func (m *Member) check(ctx context.Context, alter *ddl.Alter, s *session.Server) error {
	ctx, end := context.WithTimeout(ctx, m.CheckLimit)
	defer end()
	p, err := m.Change.MakePlan(ctx, alter, s, true)
	if err == nil {
		_, cfg, settings := m.Change.Settings()
		_, err = migration.New(s.Pool, s.Binlog, p, cfg, operator.NewControl(settings), func(e event.Event) {
			if found, is := e.(event.Finding); is {
				m.Answer.Findings = append(m.Answer.Findings, record.Of(found).(record.Finding))
			}
		}).Check(ctx)
	}
	m.Answer.Checked = err == nil || exit.Code(err, false) == exit.Unfit
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !m.Answer.Checked {
		return &exit.Error{Code: exit.Failed, Err: fmt.Errorf("the check has not ended within %s", m.CheckLimit), Next: "raise --check-limit"}
	}
	return err
}

// End notes how the plan has ended. late means that its time limit was over.
func (m *Member) End(told exit.Teller, err error, late bool) {
	a := &m.Answer
	var usage *exit.Usage
	switch {
	case err == nil:
		a.Outcome = cmp.Or(a.Outcome, fleetplan.Fits)
		return
	case late && a.Method == "":
		err = &exit.Error{Code: exit.Failed, Err: fmt.Errorf("it took longer than %s (%s)", m.TimeLimit, told.At.Stage), Next: "raise --time-limit"}
	case errors.As(err, &usage):
		var all []string
		for _, p := range usage.Problems {
			all = append(all, p.Error())
		}
		err = &exit.Error{Code: exit.WrongUsage, Err: errors.New(strings.Join(all, "; ")), Next: "correct the option file or the --option"}
	}
	a.ExitCode = exit.Code(err, false)
	result := told.ResultOf(migration.Result{}, err, a.ExitCode)
	a.Outcome, a.Error, a.Next, a.Problems = fleetplan.OutcomeOf(a.ExitCode), result.Error, result.Next, result.Problems
}
