package record

import (
	"time"

	"midstream/internal/engine/leftovers"
)

// Undos are the changes of a server that can be undone.
type Undos struct {
	Event  string `json:"event" doc:"undos"`
	Server string `json:"server" doc:"host:port"`
	Undos  []Undo `json:"undos" doc:"one for each change"`
}

// Undo is one change that has left what its undo needs.
type Undo struct {
	Table   string    `json:"table" doc:"the table"`
	Old     string    `json:"old" doc:"the old table"`
	State   string    `json:"state" doc:"open, revoked, running or ended"`
	Why     string    `json:"why" doc:"why it is revoked or ended, or empty"`
	Mode    string    `json:"mode" doc:"lazy or cold"`
	Alter   string    `json:"alter" doc:"the clauses of the change"`
	Redo    bool      `json:"redo" doc:"the change was an undo: to take it back is the redo"`
	Swapped time.Time `json:"swapped" doc:"when the change was swapped"`
	Until   time.Time `json:"open_until" doc:"until when it can be undone"`
}

// UndosOf lists the changes of a server.
func UndosOf(all []leftovers.Undoable, address string) Undos {
	r := Undos{Event: "undos", Server: address, Undos: []Undo{}}
	for _, u := range all {
		r.Undos = append(r.Undos, Undo{
			Table: u.Table.Dotted(), Old: u.Old.Dotted(), State: string(u.State), Why: u.Why, Mode: u.Record.Mode, Alter: u.Alter,
			Redo: u.Record.Back, Swapped: u.Record.Swapped, Until: u.Record.Until,
		})
	}
	return r
}
