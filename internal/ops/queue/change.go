package queue

import (
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// State is how far a change has come.
type State string

// The states. From StateDone on nothing more happens to it.
const (
	// StateProposed is of a change that waits for the consent of another person. It is in no one's way.
	StateProposed  State = "proposed"
	StateWaiting   State = "waiting"
	StateRunning   State = "running"
	StateDone      State = "done"
	StateFailed    State = "failed"
	StateAborted   State = "aborted"
	StateWithdrawn State = "withdrawn"
	// StateUnknown is of a run that was killed, or that doesn't know itself whether the tables were swapped.
	StateUnknown State = "unknown"
)

// States lists all states.
func States() []State {
	return []State{StateProposed, StateWaiting, StateRunning, StateDone, StateFailed, StateAborted, StateWithdrawn, StateUnknown}
}

// Over says that nothing more will happen.
func (s State) Over() bool { return s != StateProposed && s != StateWaiting && s != StateRunning }

// Submission is a change that somebody asks for.
type Submission struct {
	ID        string `json:"id,omitempty" doc:"id of the change: at most 64 letters, digits and . _ -; the service makes one if it is missing. A second submission with the same id and content has no effect" example:"orders-note-1"`
	Server    string `json:"server" doc:"name of a server of the service (/v1/servers)"`
	Statement string `json:"statement,omitempty" doc:"the statement, as midstream run takes it, with the table's database; with together it may have several, with a semicolon between two of them" example:"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)"`
	Together  bool   `json:"together,omitempty" doc:"true: the statements are ALTER TABLE, each of another table, and all tables are swapped in one step (docs/together.md)"`
	// Statements are given in the place of Statement.
	Statements []string          `json:"statements,omitempty" doc:"with together: the statements, in the place of statement"`
	Files      []File            `json:"files,omitempty" doc:"in the place of a statement: files with a CREATE TABLE for each table; the change brings the tables to these definitions, as midstream run --to does. At most 1 MiB in all"`
	Options    map[string]string `json:"options,omitempty" doc:"values of flags of midstream run, by their names; docs/serve.md lists the permitted ones"`
	After      []string          `json:"after,omitempty" doc:"ids of changes that must be done first; the service must know them already"`
	Priority   int               `json:"priority,omitempty" minimum:"-100" maximum:"100" doc:"of the changes that may begin on a server, one with a higher number begins first; 0 is usual. It does not change the order of changes of one table"`
	NotBefore  *time.Time        `json:"not_before,omitempty" doc:"the run begins at this time at the earliest"`
	Window     string            `json:"window,omitempty" maxLength:"200" doc:"the run begins only within these hours, and may then go on; the option cutover-window bounds the swap" example:"Tue-Thu 09:00-16:00 Europe/Berlin"`
	By         string            `json:"by,omitempty" maxLength:"200" doc:"who submits the change, in free text"`
	member     bool              // of a change set
}

// Change is one that was submitted.
type Change struct {
	ID          string            `json:"id" doc:"id of the change"`
	Server      string            `json:"server" doc:"name of the server that has the table"`
	Table       string            `json:"table" doc:"the table that is changed: database.table; of RENAME TABLE and of a group, the first table"`
	Tables      []string          `json:"tables" doc:"all tables that the statement, or a group of statements, names: database.table"`
	Together    bool              `json:"together" doc:"true: the tables are swapped in one step"`
	Statement   string            `json:"statement" doc:"the statement, as it was submitted; of a group all of them, with a semicolon between two"`
	Files       []string          `json:"files" doc:"names of the files, if the change was submitted as files"`
	Options     map[string]string `json:"options" doc:"the options, as they were submitted"`
	After       []string          `json:"after" doc:"ids of the changes that must be done first"`
	Priority    int               `json:"priority" doc:"of the changes that may begin on a server, one with a higher number begins first"`
	NotBefore   *time.Time        `json:"not_before" doc:"the run begins at this time at the earliest; null for any time"`
	Window      string            `json:"window" doc:"hours within which the run begins; empty for any"`
	Undoes      string            `json:"undoes" doc:"id of the change that this change takes back; empty unless it is an undo"`
	State       State             `json:"state" enum:"proposed,waiting,running,done,failed,aborted,withdrawn,unknown" doc:"state of the change; unknown: the result of its run is not known"`
	Why         string            `json:"why" doc:"what the change waits for, or how it ended, for people; may be empty"`
	Next        string            `json:"next" doc:"what to do; may be empty"`
	Submitted   time.Time         `json:"submitted" doc:"time of the submission"`
	SubmittedBy string            `json:"submitted_by" doc:"who submitted the change, in free text, and from which address"`
	Author      string            `json:"author" doc:"name of the token or person that submitted the change; empty if none was stated"`
	Approval    *Approval         `json:"approval" doc:"who approved the change, and when; null if no one did"`
	Began       *time.Time        `json:"began" doc:"time when its run began; null before"`
	Ended       *time.Time        `json:"ended" doc:"time when the change ended; null before"`
	Process     int               `json:"process" doc:"id of its run's process; 0 before there is one"`
	ExitCode    *int              `json:"exit_code" doc:"exit code of the run (docs/exit-codes.md); null until the run has ended, or if the code is not known"`
	Attempt     int               `json:"attempt" doc:"number of the attempt, from 1; a change that is run again has another one"`
	Attempts    []Attempt         `json:"attempts" doc:"the earlier attempts, the newest last; of many, the last 50"`
	AgainBy     string            `json:"again_by" doc:"who asked for this attempt, in free text, and from which address; empty for the first attempt"`
	Again       string            `json:"again" enum:",begin,resume,restart" doc:"how another attempt begins (POST .../again): begin: nothing of this one is left; resume: from the work that is kept; restart: from the start, because the work was removed; empty: the change cannot be run again"`
	Ready       *Ready            `json:"ready" doc:"since when the run waits for its release, and the age of its proof; null if the change is not ready"`
	Results     []record.Table    `json:"results" doc:"of files: what has become of each table; empty until the run has ended"`
	Unfit       []record.Finding  `json:"unfit" doc:"rows that the run refused because they do not fit the definition, a finding for each reason; empty unless it ended because of them"`
	ParkedRows  int               `json:"parked_rows" doc:"number of rows that this undo has set aside (--park)"`
	ParkedTable string            `json:"parked_table" doc:"the table that has these rows; empty: none"`
	History     string            `json:"history" doc:"path of the history of the run, on the machine of the service; of a group, that of one table, with the others in the same folder; empty until there is one"`
	Undo        *Undo             `json:"undo" doc:"how the change can be taken back, by the last answer of its server; null unless it is done and has kept an undo"`
}

// Named names the table that is changed, or the tables of a group, for people.
func (c Change) Named() string {
	if !c.Together && len(c.Files) == 0 {
		return schema.NameOf(c.Table).String()
	}
	var all []schema.Name
	for _, table := range c.Tables {
		all = append(all, schema.NameOf(table))
	}
	return schema.List(all)
}

// entry is a change as the store keeps it.
type entry struct {
	Change
	// Sequence is the order of submission.
	Sequence uint64 `json:"sequence"`
	// Tables are all that the statements are about. A store has them in the place of those of the change.
	Tables []schema.Name `json:"tables"`
	// Texts are the files. The run gets them from here, at each attempt.
	Texts []File `json:"texts"`
	// Place is the machine and the folder where its run was begun; "" before.
	Place string `json:"place"`
	// Kept identifies what the server has for the undo of the change; nil for nothing.
	Kept *keptUndo `json:"kept"`
	// Taken is when the change was swapped that this one takes back; zero if it is no undo.
	Taken time.Time `json:"taken"`
	// Told is the number of the attempt whose history the store has.
	Told int `json:"told"`
	// Member is of a change of a change set; nil for another one.
	Member *ordered `json:"member"`
}

// asks says that a submission is the one that this change was made of.
func (e *entry) asks(s Submission) bool {
	return e.Undoes == "" && e.Server == s.Server && e.Statement == s.Statement && e.Together == s.Together && slices.Equal(e.Texts, s.Files) && maps.Equal(e.Options, s.Options) && slices.Equal(e.After, s.After) &&
		e.Priority == s.Priority && e.Window == s.Window &&
		(e.NotBefore == nil) == (s.NotBefore == nil) && (e.NotBefore == nil || e.NotBefore.Equal(*s.NotBefore))
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
	e.State, e.Why, e.Next, e.Ended, e.Ready = state, why, next, &now, nil
}
