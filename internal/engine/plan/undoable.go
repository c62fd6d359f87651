package plan

import (
	"fmt"
	"math"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
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
	// Fills are the columns that it brings back and that have no default: rows that are new by then need --undo-fill. Changes
	// is what it changes in values without an error; "" for nothing.
	Fills   []string
	Changes string
	// Converted are columns that the change converts: a row that the undo syncs keeps the converted value.
	Converted []string
	// By has the clauses with which the server alters the table back; "" if there is an old table.
	By string
	// Copies means that the server copies the table then, or a run does. Refuses are the rows that the old definition may
	// refuse; "" for none.
	Copies  bool
	Refuses string
	// Instead is the cost of a method that can be undone, if this one cannot; nil if there is none.
	Instead *Prediction
	// NotInstead is why there is none.
	NotInstead string
}

// WayBack is the command by which the server alters a table back, by these clauses.
func WayBack(table schema.Name, by string) string {
	return "midstream run  " + schema.Shell("ALTER TABLE "+table.Quoted()+" "+by)
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
	if p.NoWayBack != "" {
		return Undoable{Why: p.NoWayBack}
	}
	u := Undoable{Possible: true, Lazy: true, Fills: p.BackFills, Changes: p.BackLoses, Refuses: p.BackRefuses, Converted: p.BackConverted}
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
		return Undoable{Possible: true, Lost: v.Lost, By: v.Clauses, Copies: v.By != nil && v.By.Method == MethodCopy, Refuses: v.Refuses}
	}
	return Undoable{Why: v.Why, Instead: v.Instead, NotInstead: v.NotInstead}
}

// UndoFix is what makes a change undoable.
func (p *Plan) UndoFix() string {
	if p.Filter != "" {
		return "Leave rows out by --keep in a change of its own"
	}
	if p.Choice.Method == MethodShadow {
		return "Keep the primary key"
	}
	return "--undo-method=require copies the table and keeps the old one"
}

// FindWayBack looks for what an undo of the plan's change will need, and notes in the plan if it cannot be had: a key of the
// altered table that can be followed, and by which the rows of the former one are found. back leads from after to before, and
// says has the column of after for each column of before.
func (p *Plan) FindWayBack(facts *Facts, before, after *schema.Table, back *ddl.Alter, says map[string]string) {
	known := *facts
	known.Trial, known.Native = nil, nil
	undo := &Back{Old: before}
	c := checker{facts: &known, table: after, alter: back, options: Options{Map: says, Purpose: Undoing, Method: MethodShadow, Back: undo}}
	chosen, reasons := c.chooseKey()
	if chosen.key.Name == "" {
		p.NoWayBack = "an undo can follow no key of the new table"
		if len(reasons) > 0 {
			p.NoWayBack += " (" + strings.Join(reasons, "; ") + ")"
		}
		return
	}
	p.BackKey = chosen.key.Name
	p.findLosses(before, after, back, says)
	way := Plan{Source: after, Alter: back, Map: says, Key: chosen.key, Server: p.Server, Back: undo}
	columns, err := way.Columns(before)
	switch {
	case err != nil:
		p.NoWayBack = "an undo cannot find the rows of the old table: " + err.Error()
	case columns.KeyChanged() && !p.Undoable().Lazy:
		p.NoWayBack = p.Undoable().Why + ", and the change alters the key, so that a range of it has other rows in the old table"
	default:
		p.NoWayBack = unfiltered(p.Filter, len(before.ForeignKeys)+len(after.ForeignKeys)+len(p.Source.ForeignKeys), columns)
	}
}

// findLosses notes in the plan what an undo of its change needs for new rows, and what it changes in values.
func (p *Plan) findLosses(before, after *schema.Table, back *ddl.Alter, says map[string]string) {
	m := mapper{source: after, shadow: before, alter: back, user: says}
	pairs, err := m.pairs()
	if err != nil {
		return
	}
	for _, c := range undefaulted(before, pairs) {
		p.BackFills = append(p.BackFills, c.Name)
	}
	for _, c := range converted(pairs, p.Set) {
		p.BackConverted = append(p.BackConverted, c.name)
	}
	if mappings, err := MapColumns(after, before, back, says); err == nil {
		p.BackLoses = changedValues(after, before, mappings)
	}
}

// UndoRisks are what an operator should know who wants to keep the undo open for so long; none for 0.
func (p *Plan) UndoRisks(open time.Duration) (risks []Risk) {
	u := p.Undoable()
	switch {
	case open <= 0 || p.Purpose != Altering || p.Choice.Method == MethodNone:
	case !u.Possible:
		risks = append(risks, Risk{
			Code: CodeUndo, What: "the change cannot be undone afterwards", Why: u.Why, Fix: p.UndoFix(),
		})
	case u.By != "":
	case !u.Lazy:
		risks = append(risks, Risk{Code: CodeUndo, What: "an undo will sync and compare all rows, and not only the changed ones", Why: u.Why})
	case p.Server.BinlogExpire > 0 && p.Server.BinlogExpire < open:
		risks = append(risks, p.Server.shortBinlogs(open))
	}
	return risks
}

// shortBinlogs says that the binlogs are purged before an undo that is open for so long.
func (s Server) shortBinlogs(open time.Duration) Risk {
	keeps, fix := "the server keeps its binlogs for "+s.BinlogExpire.String(), "Raise binlog_expire_logs_seconds"
	if s.BinlogManaged {
		fix = fmt.Sprintf("CALL mysql.rds_set_configuration('binlog retention hours', %d)", int(math.Ceil(open.Hours())))
		if s.BinlogExpire < time.Hour {
			keeps = "the provider purges binlogs at once, or within a day"
		}
	}
	return Risk{
		Code: CodeUndo, What: fmt.Sprintf("%s, and the undo is open for %s", keeps, open),
		Why: "an undo after that syncs and compares all rows", Fix: fix,
	}
}
