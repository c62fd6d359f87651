package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/access"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/metrics"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// notNow is the answer to what can't be asked of a change as it stands.
func notNow(e *entry, why string) *socket.Problem {
	return &socket.Problem{
		Status: http.StatusConflict,
		Title:  e.ID + " cannot be asked now",
		Detail: why,
		Next:   "midstream queue  " + e.ID + " shows the state of the change",
	}
}

// pass hands a request to the run of a change, and its answer back.
func (s *Service) pass(ctx context.Context, id, method, operation string, request, answer any) error {
	e := s.find(id)
	switch {
	case e == nil:
		return unknown(id)
	case e.State == StateProposed:
		why, _ := e.proposed()
		return notNow(e, why)
	case e.State == StateWaiting:
		return notNow(e, "it waits: "+s.waitsFor(e))
	case e.State.Over():
		return notNow(e, "it is "+string(e.State))
	case e.Place != s.place:
		return notNow(e, s.view(e).Why)
	}
	if operation == "cutover" || operation == "prepare" {
		if err := s.frozenSwap(e); err != nil {
			return err
		}
	}
	run, err := s.runOf(ctx, e)
	if err != nil {
		return err
	}
	return run.Call(access.WithBy(ctx, AskerOf(ctx).Words("")), method, operation, request, answer)
}

// runOf finds the run of a change that is at work, or the runs of a group. It fails with a *socket.Problem where it has no socket.
func (s *Service) runOf(ctx context.Context, e *entry) (groups.Runs, error) {
	s.mu.RLock()
	run := s.runs[e.ID]
	s.mu.RUnlock()
	if run.Complete(ctx, e.Process) { // another run may have the socket by now
		return run, nil
	}
	select { // each asks all sockets
	case s.finding <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.finding }()
	run, err := groups.Find(ctx, s.cfg.ControlFolder, e.Process)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(run) == 0 {
		delete(s.runs, e.ID)
		return nil, notNow(e, "its run has no control socket now: the run begins or ends")
	}
	s.runs[e.ID] = run
	return run, nil
}

// Metrics shows Prometheus the queue, its runs, and change sets.
func (s *Service) Metrics(sets func() metrics.Sets) http.Handler {
	return metrics.Union(metrics.Queue{Counts: s.counts, Ready: s.readies, Sources: s.sources, Undos: s.undoMetrics, Sets: sets})
}

// counts returns how many submissions are in each state.
func (s *Service) counts() map[string]int {
	counts := map[string]int{}
	for _, state := range States() {
		counts[string(state)] = 0
	}
	for _, e := range s.all() {
		counts[string(e.State)]++
	}
	return counts
}

// readies returns the changes that wait for their release.
func (s *Service) readies() (list []metrics.Ready) {
	for _, e := range s.atWork() {
		if e.Ready != nil {
			r := e.Ready
			list = append(list, metrics.Ready{Change: e.ID, Table: e.Table, Server: e.Server, Since: r.Since, Verified: r.VerifiedAt})
		}
	}
	return list
}

// sources returns where the metrics of each run of this service are read.
func (s *Service) sources() (sources []metrics.Source) {
	for _, e := range s.all() {
		if e.State != StateRunning || e.Place != s.place {
			continue
		}
		sources = append(sources, metrics.Source{Change: e.ID, Read: func(ctx context.Context) ([]io.ReadCloser, error) {
			run, err := s.runOf(ctx, e)
			if err != nil {
				return nil, err
			}
			return run.Metrics(ctx)
		}})
	}
	return sources
}

// mayPass refuses settings that a submission may not have.
func (s *Service) mayPass(command any) error {
	set, is := command.(socket.SetCommand)
	if !is {
		return nil
	}
	if err := checkOptions(set.Settings, Options()); err != nil {
		return bad("nothing was changed", err.Error(), "only the operator of the service may change it: midstream set, on the machine of the service")
	}
	return nil
}

const (
	// MostPlans bounds the plans that are made at once. Each takes two processes, and connections of its server.
	MostPlans = 2
	// mostPlansWaiting bounds the plans that wait for their turn.
	mostPlansWaiting = 16
	// planTurn bounds that wait.
	planTurn = time.Minute
)

// planners bounds the plans that are made at once.
type planners struct {
	work    chan struct{}
	waiting chan struct{}
}

func newPlanners() planners {
	return planners{make(chan struct{}, MostPlans), make(chan struct{}, MostPlans+mostPlansWaiting)}
}

// take waits for a turn, and done gives it back. It fails with a *socket.Problem if too many wait,
// or if the turn does not come in time.
func (p planners) take(ctx context.Context) (done func(), err error) {
	busy := &socket.Problem{
		Status: http.StatusServiceUnavailable,
		Title:  "no plan was made",
		Detail: fmt.Sprintf("the service already makes %d plans, and others wait", MostPlans),
		Next:   "try again in a minute, or use midstream plan",
	}
	select {
	case p.waiting <- struct{}{}:
	default:
		return nil, busy
	}
	turn := time.NewTimer(planTurn)
	defer turn.Stop()
	select {
	case p.work <- struct{}{}:
		return func() { <-p.work; <-p.waiting }, nil
	case <-turn.C:
		err = busy
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	<-p.waiting
	return nil, err
}

// planTime is how long a plan may take to clean up after who has asked for it is gone.
const planTime = 30 * time.Second

// Plan has midstream plan tell of a change. It fails with a *socket.Problem.
func (s *Service) Plan(ctx context.Context, asked PlanQuestion) (PlanAnswer, error) {
	submission := tidied(Submission{
		Server: asked.Server, Statement: asked.Statement, Together: asked.Together, Statements: asked.Statements,
		Files: asked.Files, Options: asked.Options,
	})
	if _, err := s.read(submission); err != nil {
		problem := *ProblemOf(err)
		problem.Title = "no plan was made"
		return PlanAnswer{}, &problem
	}
	done, err := s.planners.take(ctx)
	if err != nil {
		return PlanAnswer{}, err
	}
	defer done()
	e := &entry{Texts: submission.Files, Change: Change{
		Server: submission.Server, Statement: submission.Statement, Together: submission.Together, Options: submission.Options,
	}}
	var answer PlanAnswer
	err = s.laid(e.Texts, func(folder string) error {
		var work errgroup.Group
		work.Go(func() error {
			records, _, err := s.ask(ctx, s.plans(e, folder, "--json"))
			if err == nil {
				err = answer.take(unfoldered(records, folder))
			}
			return err
		})
		work.Go(func() error {
			stdout, stderr, err := s.ask(ctx, s.plans(e, folder, "--no-color"))
			answer.Text = string(unfoldered(stdout, folder)) + string(unfoldered(stderr, folder))
			return err
		})
		return work.Wait()
	})
	if err != nil {
		return PlanAnswer{}, fmt.Errorf("ask for a plan: %w", err)
	}
	return answer, nil
}

// MemberPlan is the plan of a member of a change set that has files.
type MemberPlan struct {
	// Result is nil if the plan was not made in time.
	Result *record.Result
	// Tables are the plans, one for each table.
	Tables []record.Plan
}

// PlanMember plans what leads the tables of a member to the definitions in files, as its run would. One plan is made after the other,
// if there are many.
func (s *Service) PlanMember(ctx context.Context, server string, files []File, options map[string]string) (made MemberPlan, err error) {
	done, err := s.planners.take(ctx)
	if err != nil {
		return made, err
	}
	defer done()
	e := &entry{Texts: files, Member: &ordered{}, Change: Change{Server: server, Options: options}}
	err = s.laid(files, func(folder string) error {
		records, _, err := s.ask(ctx, s.plans(e, folder, "--json"))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(unfoldered(records, folder)) {
			var head record.Head
			if err = json.Unmarshal(line, &head); err != nil {
				return err
			}
			switch head.Event {
			case record.NamePlan:
				var one record.Plan
				err = json.Unmarshal(line, &one)
				made.Tables = append(made.Tables, one)
			case record.NameResult:
				err = json.Unmarshal(line, &made.Result)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && made.Result == nil {
		err = errors.New("midstream plan ended without a result")
	}
	return made, err
}

// ask runs midstream to its end. Its exit code is no error.
func (s *Service) ask(ctx context.Context, args []string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, s.cfg.Executable, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = planTime
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) && ctx.Err() == nil {
		err = nil
	}
	return out.Bytes(), errs.Bytes(), err
}

// take reads the records of a plan.
func (a *PlanAnswer) take(records []byte) error {
	for line := range bytes.Lines(records) {
		var head record.Head
		if err := json.Unmarshal(line, &head); err != nil {
			return err
		}
		var err error
		switch head.Event {
		case record.NamePlan:
			var plan any
			if err = json.Unmarshal(line, &plan); a.Plan == nil || len(a.Plans) == 0 {
				a.Plan = plan
			}
			a.Plans = append(a.Plans, plan)
		case record.NameResult:
			err = json.Unmarshal(line, &a.Result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
