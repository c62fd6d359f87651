package record

import (
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Undos are the changes of a server that can be undone.
type Undos struct {
	Event  string `json:"event" doc:"undos"`
	Server string `json:"server" doc:"host:port"`
	Undos  []Undo `json:"undos" doc:"one for each change"`
}

// Undo is one change that has left what its undo needs.
type Undo struct {
	Table    string     `json:"table" doc:"the table"`
	Together []string   `json:"together" doc:"tables that were swapped in the same step (--together), and are taken back in the same step"`
	Old      string     `json:"old" doc:"the old table"`
	State    string     `json:"state" doc:"open, revoked, running, stopped (it has begun, and its process is gone) or ended"`
	Why      string     `json:"why" doc:"why it is revoked or ended, or empty"`
	Mode     string     `json:"mode" doc:"lazy, cold, warm: a follower runs; native: the server alters the table back; or rename: the tables get their names back"`
	Unfit    *int64     `json:"unfit" doc:"rows that do not fit the definition that comes back; null: not checked"`
	Compared *time.Time `json:"compared" doc:"when the follower last compared the tables; null: not yet, or no follower runs"`
	Behind   *float64   `json:"behind" doc:"seconds by which the follower is behind; null unless the mode is warm"`
	Lost     []string   `json:"lost" doc:"columns whose values an undo gives up, because this change or a later one has added them"`
	Later    []string   `json:"later" doc:"clauses of later changes of the table, which an undo takes back too"`
	Fills    []string   `json:"fills" doc:"columns without a default that an undo brings back: rows that are new since the swap need a value (--undo-fill)"`
	Parked   []string   `json:"parked" doc:"tables with rows that undos of the table have set aside (--park); docs/undo.md says what becomes of them"`
	Alter    string     `json:"alter" doc:"the clauses of the change"`
	Redo     bool       `json:"redo" doc:"the change was an undo: to take it back is the redo"`
	Swapped  time.Time  `json:"swapped" doc:"when the change was swapped; the year 1: not known"`
	Until    time.Time  `json:"open_until" doc:"until when the undo is promised; a revoked one is possible as long as the old table exists; the year 1: nothing was kept of the change"`
	Resume   string     `json:"resume" doc:"the command that begins a stopped undo again, with its flags; *** in it stands for a hidden value; empty in other states, or if it is the command of a run"`
}

// UndosOf lists the changes of a server.
func UndosOf(all []leftovers.Undoable, address string) Undos {
	r := Undos{Event: "undos", Server: address, Undos: []Undo{}}
	for _, u := range all {
		r.Undos = append(r.Undos, Undo{
			Table: u.Table.Dotted(), Together: dotted(u.Together), Old: oldOf(u), State: string(u.State), Why: u.Why, Mode: u.Record.Mode,
			Alter: u.Alter, Redo: u.Record.Back, Swapped: u.Record.Swapped, Until: u.Record.Until, Parked: u.ParkedNames(),
			Resume: ResumeOf(u),
		})
	}
	return r
}

// dotted are the names of tables.
func dotted(tables []schema.Name) []string {
	names := make([]string, 0, len(tables))
	for _, table := range tables {
		names = append(names, table.Dotted())
	}
	return names
}

// oldOf is the old table of a change; "" if there is none.
func oldOf(u leftovers.Undoable) string {
	if u.Record.Old == "" {
		return ""
	}
	return u.Old.Dotted()
}

// Open is how a finished change can be undone.
type Open struct {
	Table   string    `json:"table" doc:"the table"`
	Swapped time.Time `json:"swapped" doc:"when the change was swapped"`
	State   string    `json:"state" doc:"open, revoked (only by all rows: --cold), running, stopped (it has begun, and its process is gone) or ended" enum:"open,revoked,running,stopped,ended"`
	Why     string    `json:"why" doc:"why it is revoked or ended; may be empty"`
	Mode    string    `json:"mode" doc:"lazy: an undo syncs the rows that have changed since the swap; cold: all rows; native: the server alters the table back; rename: the tables get their names back"`
	Until   time.Time `json:"open_until" doc:"until when the undo is promised; a revoked one is possible as long as the old table exists"`
	Redo    bool      `json:"redo" doc:"true: the run has undone a change, and to take that back is the redo"`
	Unfit   *int64    `json:"unfit" doc:"rows that do not fit the definition that comes back; null: not checked"`

	Together []string `json:"together" doc:"tables that were swapped in the same step (--together), and are taken back in the same step"`
}

// OpenOf returns how a change can be undone; nil if it cannot.
func OpenOf(u *leftovers.Undoable) *Open {
	if u == nil {
		return nil
	}
	return &Open{
		Table: u.Table.Dotted(), Swapped: u.Record.Swapped, State: string(u.State), Why: u.Why, Mode: u.Record.Mode, Until: u.Record.Until,
		Redo: u.Record.Back, Together: dotted(u.Together),
	}
}

// Undoes is a change that a run takes back.
type Undoes struct {
	Swapped time.Time `json:"swapped" doc:"when the change was swapped; the year 1: not known"`
	Alter   string    `json:"alter" doc:"the clauses of the change; empty: not known"`
	Mode    string    `json:"mode" doc:"lazy: only the rows that have changed since then are synced; cold: all rows; native: the server alters the table back; rename: the tables get their names back"`
	Redo    bool      `json:"redo" doc:"true: the change was an undo itself"`
	// Compares is empty in records of earlier versions, which compared the changed rows if Mode is lazy.
	Unfit    *int64 `json:"unfit" doc:"rows that do not fit the definition that comes back, as a process that follows the table has found; null: not checked"`
	Compares string `json:"compares" doc:"changed: a lazy undo compares only the rows that have changed since the swap; all: all rows; may be empty"`
}

func undoesOf(p *plan.Plan) *Undoes {
	if p.Back == nil {
		return nil
	}
	compares := "all"
	if p.Back.Unseen != "" {
		compares = "changed"
	}
	return &Undoes{Swapped: p.Back.Swapped, Alter: p.Back.Alter, Mode: p.Back.Way(), Redo: p.Back.Redo, Compares: compares}
}

// Undoable is whether the change of a plan can be undone after the run.
type Undoable struct {
	Possible   bool     `json:"possible" doc:"true: the run can keep what an undo needs (--undo)"`
	ForMS      MS       `json:"for_ms" doc:"how long the undo will be open after the swap; 0: the run does not keep it"`
	Mode       string   `json:"mode" doc:"lazy: an undo syncs the rows that have changed since the swap; cold: all rows; native: the server alters the table back; empty: not possible"`
	Why        string   `json:"why" doc:"why it is not possible, or not lazy; may be empty"`
	Lost       []string `json:"lost" doc:"columns whose values an undo gives up, because the change adds them"`
	Fills      []string `json:"fills" doc:"columns without a default that an undo brings back: rows that are new by then need a value (--undo-fill)"`
	Changes    string   `json:"changes" doc:"what an undo changes in values without an error, such as rounding; may be empty"`
	By         string   `json:"by" doc:"the clauses by which the server alters the table back; empty if a table is kept"`
	Refuses    string   `json:"refuses" doc:"kinds of rows that the old definition refuses: they end the undo, with the table unchanged; may be empty"`
	InsteadMS  *MS      `json:"instead_ms" doc:"expected duration of a change that can be undone (--undo-method=require); null: this one can be, or no method can"`
	NotInstead string   `json:"not_instead" doc:"why no method can be undone; may be empty"`
}

// Command is the command by which the server alters the table back, if nothing was kept for an undo.
func (u *Undoable) Command(table schema.Name) string {
	return plan.WayBack(table, u.By)
}

func undoableOf(p *plan.Plan, open time.Duration) *Undoable {
	if p.Purpose != plan.Altering {
		return nil
	}
	u := p.Undoable()
	r := &Undoable{Possible: u.Possible, Why: u.Why, Lost: append([]string{}, u.Lost...), Fills: append([]string{}, u.Fills...),
		Changes: u.Changes, By: u.By, Refuses: u.Refuses, NotInstead: u.NotInstead}
	if u.Possible {
		r.Mode, r.ForMS = plan.UndoMode(u.Lazy), MSOf(open)
	}
	if u.By != "" {
		r.Mode = plan.UndoNative
	}
	if plan.Bound(p) && open <= 0 {
		r.Why = plan.BackTogether
	}
	if u.Instead != nil {
		takes := MSOf(u.Instead.Elapsed)
		r.InsteadMS = &takes
	}
	return r
}

// Idle is what a machine knows of a table on which no run is active.
type Idle struct {
	Run    Run       `json:"run" doc:"the last run on the table"`
	Result *Result   `json:"result" doc:"its result; null if it was killed"`
	State  string    `json:"state" doc:"killed, stopped (its work is kept) or done (its undo is open)"`
	Phase  string    `json:"phase" doc:"the last phase of a run that was killed or has stopped; empty if it is done"`
	Seen   time.Time `json:"seen" doc:"when such a run last reported something; the year 1 if it is done"`
	Resume string    `json:"resume" doc:"the command that begins such an undo again, with its flags; empty if it is done, or no undo"`
}

// undoesOfTables is undoesOf for a statement on complete tables.
func undoesOfTables(p *plan.TablePlan) *Undoes {
	if p.Back == nil && !p.Redo {
		return nil
	}
	return &Undoes{Swapped: p.Swapped, Alter: p.Former, Mode: plan.UndoRename, Redo: p.Redo}
}
