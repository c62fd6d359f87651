package web

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// passage is what a reader has seen of the run of a table: its phases so far.
type passage struct {
	entered []event.Phase
	at      time.Time // of the last one
	native  bool      // the server changes the table itself
}

// passed is that of all tables of a change.
type passed []passage

var (
	phaseLine = []byte(`{"event":"` + record.NamePhase + `",`)
	planLine  = []byte(`{"event":"` + record.NamePlan + `",`)
)

// take reads a record.
func (p *passage) take(line []byte) {
	switch {
	case bytes.HasPrefix(line, phaseLine):
		e, _, err := record.Read(line)
		phase, is := e.(event.PhaseEntered)
		if err != nil || !is {
			return
		}
		if phase.Phase == event.PhaseCheck { // another attempt
			p.entered = nil
		}
		p.entered, p.at = append(p.entered, phase.Phase), phase.At
	case bytes.HasPrefix(line, planLine):
		var plan record.Plan
		if json.Unmarshal(line, &plan) == nil {
			p.native = plan.Method != "shadow"
		}
	}
}

func (p passage) stages() []humanize.Stage { return humanize.Stages(p.entered, p.native) }

// stages are the steps of a change: of a group, those of the table that has come least far.
func (all passed) stages() []humanize.Stage {
	least, is := []humanize.Stage{}, -1
	for _, p := range all {
		stages := p.stages()
		now := slices.IndexFunc(stages, func(s humanize.Stage) bool { return s.State == humanize.StageNow })
		if is < 0 || now < is {
			least, is = stages, now
		}
	}
	return least
}

// held is when a change began to wait with the swap; zero if it does not.
func (all passed) held() (since time.Time) {
	for _, p := range all {
		if n := len(p.entered); n > 0 && p.entered[n-1] == event.PhaseHold && p.at.After(since) {
			since = p.at
		}
	}
	return since
}

// blocking is a session that blocks the swap.
type blocking struct {
	Connection uint64    `json:"connection"`
	Who        string    `json:"who"`
	Why        string    `json:"why"`
	Command    string    `json:"command"`
	Since      time.Time `json:"since"`
	Statement  string    `json:"statement"`
	Snapshot   bool      `json:"snapshot"` // it holds no lock
	Spared     string    `json:"spared"`   // why no one may kill it; empty if an operator may
	// User and Host are as the run has them: a kill names them, so that it hits no other session.
	User string `json:"user"`
	Host string `json:"host"`
}

func blockingOf(b event.Blocked) []blocking {
	all := []blocking{}
	for _, one := range b.Blockers {
		kind := humanize.Doing(one)
		why := strings.TrimSpace(one.Why)
		if one.Table != "" {
			why += " on " + one.Table
		}
		if one.Program != "" {
			why += ", program " + one.Program
		}
		if one.Changed > 0 {
			why += ", " + humanize.Plural(one.Changed, "row") + " changed"
		}
		all = append(all, blocking{
			Connection: one.ConnectionID, Who: escape.Line(one.User + "@" + one.Host),
			Why: escape.Line(why), Command: escape.Line(kind), Since: b.At.Add(-one.Age).UTC().Truncate(time.Second),
			Statement: humanize.OneLine(one.Statement, 200), User: one.User, Host: one.Host, Spared: string(one.Role),
			Snapshot: one.Snapshot,
		})
	}
	return all
}
