package summary

import (
	"fmt"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Interrupt says what Ctrl-C does to a run that has come so far.
type Interrupt struct {
	First   string // what the first Ctrl-C does
	Left    string // what a second Ctrl-C leaves on the server
	Next    string // the command after the second Ctrl-C
	Swapped bool
}

// OfInterrupt describes an interrupt of a run that alters a table, and that keeps its work or removes it. An undo that is held
// follows the table.
func OfInterrupt(p *plan.Plan, phase event.Phase, swapped, follows, keeps bool) Interrupt {
	made := p.Names.State.String()
	if p.Names.Log != (schema.Name{}) {
		made += fmt.Sprintf(", %s and its triggers", p.Names.Log)
	}
	i := Interrupt{
		First:   "interrupted: aborting and removing what the run created; another Ctrl-C leaves at once",
		Left:    fmt.Sprintf("%s is unchanged; %s and %s may remain", p.Source.Name, p.Names.Shadow, made),
		Next:    "midstream cleanup  " + p.Source.Name.Argument(),
		Swapped: swapped,
	}
	if keeps && phase != event.PhaseNative {
		i.First = "stopping: the work is kept, and the same command resumes; another Ctrl-C leaves at once"
		i.Next = "run the same command again: it resumes"
	}
	if p.Back.Adopts() {
		return ofUndoInterrupt(p, phase, i, follows, keeps)
	}
	switch {
	case swapped:
		i.First = fmt.Sprintf("interrupted: %s is already swapped, so the run finishes; another Ctrl-C leaves at once", p.Source.Name)
		i.Left = fmt.Sprintf("%s was altered; the old table and %s may remain", p.Source.Name, made)
	case phase == event.PhaseCutover:
		i.Left = fmt.Sprintf("%s is unchanged or completely altered; %s, the old table and %s may remain", p.Source.Name, p.Names.Shadow, made)
	}
	return i
}

// ofUndoInterrupt describes an interrupt of an undo. It drops no old table.
func ofUndoInterrupt(p *plan.Plan, phase event.Phase, i Interrupt, follows, keeps bool) Interrupt {
	source, resume := p.Source.Name, "midstream undo  "+p.Source.Name.Argument()
	if !keeps {
		i.First = "interrupted: giving up this attempt to undo, and removing what it created; another Ctrl-C leaves at once"
	}
	i.Left = fmt.Sprintf("%s is unchanged; %s is kept, and %s may remain", source, p.Names.Shadow, p.Names.State)
	i.Next = resume
	if follows {
		i.First = fmt.Sprintf("interrupted: following %s no longer; its undo stays open; another Ctrl-C leaves at once", source)
	}
	switch {
	case i.Swapped:
		i.First = fmt.Sprintf("interrupted: the undo of %s is already swapped, so the run finishes; another Ctrl-C leaves at once", source)
		i.Left = fmt.Sprintf("%s was undone; %s and %s may remain", source, p.Names.Former(), p.Names.State)
	case phase == event.PhaseCutover:
		i.Left = fmt.Sprintf("%s is unchanged or completely undone; %s or %s is kept, and %s may remain", source, p.Names.Shadow,
			p.Names.Former(), p.Names.State)
	}
	return i
}

// OfTablesInterrupt describes an interrupt of a statement on complete tables.
func OfTablesInterrupt(p *plan.TablePlan, phase event.Phase) Interrupt {
	i := Interrupt{
		First: "interrupted: withdrawing the statement; another Ctrl-C leaves at once",
		Left:  fmt.Sprintf("the server carried out the %s of %s completely or not at all", p.Statement.Kind, TableNames(p)),
		Next:  "midstream cleanup  --old " + p.Statement.Tables()[0].Argument(),
	}
	if phase == event.PhaseCleanup || phase == event.PhaseDone {
		i.First = "interrupted: the server has already carried out the statement, so the run finishes; another Ctrl-C leaves at once"
		i.Left = fmt.Sprintf("the server carried out the %s of %s", p.Statement.Kind, TableNames(p))
		i.Swapped = true
	}
	if p.Twin != (schema.Name{}) && !i.Swapped {
		i.Left += fmt.Sprintf("; %s may remain, empty: drop it", p.Twin)
	}
	if p.Aside != (schema.Name{}) {
		i.Left += fmt.Sprintf("; %s may remain", p.Aside)
	}
	return i
}
