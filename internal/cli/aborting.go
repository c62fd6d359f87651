package cli

import (
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// errLeftAtOnce is the end of a run at a second Ctrl-C.
var errLeftAtOnce = errors.New("left at once")

// aborting is what a first Ctrl-C does.
func aborting(s *session.Stand, p *plan.Plan) string {
	if _, swapped := s.Now(); swapped {
		return fmt.Sprintf("interrupted: %s is swapped already; the run finishes; once more leaves at once", p.Source.Name)
	}
	return "interrupted: aborting and removing what the run created; once more leaves at once"
}

// left is what a second Ctrl-C leaves on the server.
func left(s *session.Stand, p *plan.Plan) string {
	phase, swapped := s.Now()
	beside := p.Names.State.String()
	if p.Names.Log != (schema.Name{}) {
		beside += fmt.Sprintf(", %s and its triggers", p.Names.Log)
	}
	switch {
	case swapped:
		return fmt.Sprintf("%s is swapped and has its new schema; the old table and %s may be left", p.Source.Name, beside)
	case phase == event.PhaseCutover:
		return fmt.Sprintf("%s is as it was, or swapped, and nothing between; %s, the old table and %s may be left",
			p.Source.Name, p.Names.Shadow, beside)
	}
	return fmt.Sprintf("%s is as it was; %s and %s may be left", p.Source.Name, p.Names.Shadow, beside)
}

// onInterrupt tells the operator what the first and the second Ctrl-C of a run do.
func (c *change) onInterrupt(p *plan.Plan, s *session.Stand, r *session.Relay, d display) (undo func()) {
	first := c.app.Interrupts.OnFirst(func() {
		r.Listen(event.Note{At: time.Now(), Text: aborting(s, p)})
	})
	second := c.app.Interrupts.OnSecond(func() {
		d.Abandon()
		err := &coded{code: exitAtOnce, err: errLeftAtOnce, left: left(s, p), next: "midstream cleanup " + p.Source.Name.Argument()}
		if c.output.json {
			record := c.app.resultOf(migration.Result{}, err, exitAtOnce)
			phase, swapped := s.Now()
			record.Phase, record.Swapped, record.Rehearsal = string(phase), swapped, string(p.Purpose)
			session.Quickly(func() { (&jsonLines{out: c.app.Stdout}).write(record) })
			session.LeaveResult(c.resultFile, record)
		}
		fmt.Fprint(c.app.Stderr, c.app.complaint(err, exitAtOnce))
	})
	return func() { first(); second() }
}
