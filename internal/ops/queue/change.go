package queue

import (
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// State is how far a change has come.
type State string

// The states. From StateDone on nothing more happens to it.
const (
	StateWaiting   State = "waiting"
	StateRunning   State = "running"
	StateDone      State = "done"
	StateFailed    State = "failed"
	StateAborted   State = "aborted"
	StateWithdrawn State = "withdrawn"
	// StateUnknown is of a run that was killed, or that doesn't know itself whether the tables were swapped.
	StateUnknown State = "unknown"
)

// Over says that nothing more will happen.
func (s State) Over() bool { return s != StateWaiting && s != StateRunning }

// Submission is a change that somebody asks for.
type Submission struct {
	ID        string            `json:"id,omitempty" doc:"letters, digits and . _ -, at most 64; one is made where there is none. A second submission of the same id with the same content is the first one" example:"orders-note-1"`
	Server    string            `json:"server" doc:"one of those that the service knows (/v1/servers)"`
	Statement string            `json:"statement" doc:"as midstream run takes it, with the table's database" example:"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)"`
	Options   map[string]string `json:"options,omitempty" doc:"values of flags of midstream run, by their names; docs/serve.md lists the permitted ones"`
	After     []string          `json:"after,omitempty" doc:"ids of changes that must be done before; they must be there already"`
	By        string            `json:"by,omitempty" maxLength:"200" doc:"who submits it, in their own words"`
}

// Change is one that was submitted.
type Change struct {
	ID          string            `json:"id" doc:"by which it is known"`
	Server      string            `json:"server" doc:"on which the table is"`
	Table       string            `json:"table" doc:"that is changed, database.table; of RENAME TABLE the first"`
	Statement   string            `json:"statement" doc:"as it was submitted"`
	Options     map[string]string `json:"options" doc:"likewise"`
	After       []string          `json:"after" doc:"ids of the changes that must be done before"`
	State       State             `json:"state" enum:"waiting,running,done,failed,aborted,withdrawn,unknown" doc:"unknown: nobody knows how it ended"`
	Why         string            `json:"why" doc:"what it waits for, or how it ended, for people; may be empty"`
	Next        string            `json:"next" doc:"what to do; may be empty"`
	Submitted   time.Time         `json:"submitted" doc:"when"`
	SubmittedBy string            `json:"submitted_by" doc:"who, in their own words, and from where"`
	Began       *time.Time        `json:"began" doc:"when its run began; null before"`
	Ended       *time.Time        `json:"ended" doc:"when; null before"`
	Process     int               `json:"process" doc:"id of its run's process; 0 before there is one"`
	ExitCode    *int              `json:"exit_code" doc:"of the run, as docs/exit-codes.md has them; null until it has ended, and where it said none"`
	History     string            `json:"history" doc:"path of the history of its run, on the machine of the service; empty until there is one"`
}

// entry is a change as the store keeps it.
type entry struct {
	Change
	// Sequence is the order of submission.
	Sequence uint64 `json:"sequence"`
	// Tables are all that the statement is about.
	Tables []schema.Name `json:"tables"`
	// Place is the machine and the folder where its run was begun; "" before.
	Place string `json:"place"`
}

// asks says that a submission is the one that this change was made of.
func (e *entry) asks(s Submission) bool {
	return e.Server == s.Server && e.Statement == s.Statement && maps.Equal(e.Options, s.Options) && slices.Equal(e.After, s.After)
}

// shares is a table that both changes are about, "" for none. Letter case does not count: the
// server may not tell it apart.
func (e *entry) shares(other *entry) string {
	if e.Server != other.Server {
		return ""
	}
	for _, a := range e.Tables {
		for _, b := range other.Tables {
			if strings.EqualFold(a.Dotted(), b.Dotted()) {
				return a.String()
			}
		}
	}
	return ""
}

// end makes the change one that is over.
func (e *entry) end(state State, why, next string) {
	now := time.Now().UTC()
	e.State, e.Why, e.Next, e.Ended = state, why, next, &now
}
