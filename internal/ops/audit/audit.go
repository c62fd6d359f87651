// Package audit has the entries of a service's journal: what persons did, and what became of changes.
package audit

import (
	"fmt"
	"strconv"
	"time"
)

// Entry is something that happened. It is written once, and never changed.
type Entry struct {
	ID     uint64    `json:"id" doc:"number of the entry; a later one has a higher number"`
	At     time.Time `json:"at" doc:"time of the entry"`
	Action string    `json:"action" doc:"what a person asked for, such as submit, approve or cutover; empty: the service noted what became of a change"`
	Who    string    `json:"who" doc:"name of the token or person; empty if none was stated, or without an action"`
	Named  bool      `json:"named" doc:"true: the name belongs to the token; false: the person stated it"`
	From   string    `json:"from" doc:"address that the request came from"`
	Change string    `json:"change" doc:"id of the change; may be empty"`
	Set    string    `json:"set" doc:"id of the change set that the entry is about; may be empty"`
	Server string    `json:"server" doc:"name of the server; may be empty"`
	Table  string    `json:"table" doc:"the table of the change: database.table; may be empty"`
	State  string    `json:"state" doc:"state of the change after the entry; ready: running, and waiting for its release. Empty if the entry changed no state"`
	Why    string    `json:"why" doc:"why the change is in the state, for people; may be empty"`
	Detail string    `json:"detail" doc:"what the request said, such as a reason or settings; may be empty"`
	Error  string    `json:"error" doc:"why the action failed. An action of a run has an entry before it begins, and a second one if it failed"`
}

// mark begins the ids of entries in a store. They come before those of changes, which begin with a letter or a digit.
const mark = "!"

// Low is the lower bound of the ids of entries.
const Low = mark

// High is the upper bound of the ids of entries, which none has.
const High = "\""

// Key is the id of an entry in a store: the order of the keys is that of the numbers.
func Key(id uint64) string { return mark + fmt.Sprintf("%019d", id) }

// Number is the number of an entry by its id as a client sends it; 0 for none.
func Number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0
	}
	return n
}
