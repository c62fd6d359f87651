package plan

import (
	"fmt"
	"strings"
	"time"
)

// Undoable is whether the change of a plan can be taken back after its run.
type Undoable struct {
	// Possible means that the run can keep what an undo needs, if that is asked for.
	Possible bool
	// Lazy means that an undo syncs only the rows that have changed since the swap.
	Lazy bool
	// Why is the reason why it is not possible, or not lazy.
	Why string
	// Lost are columns whose values an undo gives up: the change adds them.
	Lost []string
	// By has the clauses with which the server alters the table back; "" if there is an old table.
	By string
	// Instead is the cost of a method that can be undone, if this one cannot; nil if there is none.
	Instead *Prediction
	// NotInstead is why there is none.
	NotInstead string
}

// Undoable reports whether the change can be taken back.
func (p *Plan) Undoable() Undoable {
	switch p.Choice.Method {
	case MethodNone:
		return Undoable{Why: "nothing is changed"}
	case MethodShadow:
	default:
		return p.undoneByServer()
	}
	u := Undoable{Possible: true, Lazy: true}
	for _, c := range p.ColumnChanges() {
		if c.Source == "" {
			u.Lost = append(u.Lost, c.Target)
		}
	}
	switch {
	case p.Server.Capture != nil:
		u.Lazy, u.Why = false, "the run reads the changes from a replica"
	case len(p.Acting) > 0:
		u.Lazy, u.Why = false, "foreign keys change rows of the table without a trace in the binlog"
	}
	return u
}

// undoneByServer is Undoable for a change that the server makes itself.
func (p *Plan) undoneByServer() Undoable {
	v := p.Inverse
	switch {
	case v == nil:
		return Undoable{Why: fmt.Sprintf("%s leaves no old table", strings.ToUpper(string(p.Choice.Method)))}
	case p.Keeps():
		return Undoable{Possible: true, Lost: v.Lost, By: v.Clauses}
	}
	return Undoable{Why: v.Why, Instead: v.Instead, NotInstead: v.NotInstead}
}

// UndoRisks are what an operator should know who wants to keep the undo open for so long; none for 0.
func (p *Plan) UndoRisks(open time.Duration) (risks []Risk) {
	u := p.Undoable()
	switch {
	case open <= 0 || p.Purpose != Altering || p.Choice.Method == MethodNone:
	case !u.Possible:
		risks = append(risks, Risk{
			Code: CodeUndo, What: "the change cannot be undone afterwards", Why: u.Why,
			Fix: "--undo-method=require copies the table and keeps the old one",
		})
	case u.By != "":
	case !u.Lazy:
		risks = append(risks, Risk{Code: CodeUndo, What: "an undo will sync and compare all rows, and not only the changed ones", Why: u.Why})
	case p.Server.BinlogExpire > 0 && p.Server.BinlogExpire < open:
		risks = append(risks, Risk{
			Code: CodeUndo,
			What: fmt.Sprintf("the server keeps its binlogs for %s, and the undo is open for %s", p.Server.BinlogExpire, open),
			Why:  "an undo after that syncs and compares all rows",
			Fix:  "Raise binlog_expire_logs_seconds",
		})
	}
	return risks
}
