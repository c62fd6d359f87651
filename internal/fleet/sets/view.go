package sets

import (
	"time"

	"midstream/internal/fleet/rollout"
)

// View is a change set as the API shows it.
type View struct {
	ID          string         `json:"id" doc:"id of the change set"`
	State       string         `json:"state" enum:"proposed,checking,running,stopped,cancelling,recalling,undoing,finished,cancelled,undone" doc:"state of the set; proposed: it waits for the approval of a person who is not the author; checking: the fleet plan is not complete, or a member does not fit; stopped: by the stop rule; recalling: before an undo, members that have not swapped end"`
	Why         string         `json:"why" doc:"what the set waits for, for people; may be empty"`
	Next        string         `json:"next" doc:"what to do; may be empty"`
	Statement   string         `json:"statement" doc:"the statement; empty if the set has files"`
	Files       []string       `json:"files" doc:"names of the files, if the set has files"`
	Selector    string         `json:"selector" doc:"which servers are members"`
	Text        string         `json:"text" doc:"the set as a file, in its normal form (docs/change-sets.md); empty in the list of all sets"`
	Digest      string         `json:"digest" doc:"SHA-256 of the normal form, and of the files, in hexadecimal"`
	Author      string         `json:"author" doc:"name of the token or person that submitted the set; empty if none was stated"`
	SubmittedBy string         `json:"submitted_by" doc:"who submitted the set, in free text, and from which address"`
	Submitted   time.Time      `json:"submitted" doc:"time of the submission"`
	ApprovedBy  string         `json:"approved_by" doc:"who approved the set, if it needed that; may be empty"`
	Ended       *time.Time     `json:"ended" doc:"time when the set ended; null before"`
	Limits      Limits         `json:"limits" doc:"the most members that copy at the same time"`
	StopAfter   int            `json:"stop_after" doc:"number of failed members that stops the set"`
	Swap        string         `json:"swap" enum:"ready,wave_ready,released,barrier" doc:"what a member's swap waits for"`
	StartWindow string         `json:"start_window" doc:"hours within which members may start; empty: always"`
	SwapWindow  string         `json:"swap_window" doc:"hours within which members may swap; empty: always"`
	Undo        string         `json:"undo" doc:"how long the change can be taken back after a swap, such as 24h0m0s; empty: never"`
	Counts      map[string]int `json:"counts" doc:"number of members by their state; a state without a member is left out"`
	Size        int            `json:"size" doc:"number of members"`
	Work        int            `json:"work" doc:"number of members that count for the limits now"`
	Waves       []Wave         `json:"waves" doc:"the waves, in their order"`
	Members     []Member       `json:"members" doc:"the members, by wave and name; empty in the list of all sets"`
	Requests    []Request      `json:"requests" doc:"what a person may ask for now"`
	Changed     []string       `json:"changed" doc:"of a set that has ended: servers that have the change"`
	Unchanged   []string       `json:"unchanged" doc:"of a set that has ended: servers that do not have it"`
	Unknown     []string       `json:"unknown" doc:"of a set that has ended: servers that were skipped while that was not known"`
}

// Limits bound the members that copy at the same time. 0 is no limit.
type Limits struct {
	All     int `json:"all" doc:"in all; 0: no limit"`
	PerHost int `json:"per_host" doc:"with the same label host; 0: no limit"`
	PerCell int `json:"per_cell" doc:"with the same label cell; 0: no limit"`
}

// Wave is a part of a set.
type Wave struct {
	Name       string         `json:"name" doc:"name of the wave"`
	State      string         `json:"state" enum:"waiting,running,soaking,to approve,passed" doc:"state of the wave"`
	Size       int            `json:"size" doc:"number of its members"`
	Counts     map[string]int `json:"counts" doc:"number of its members by their state"`
	SoakMS     int64          `json:"soak_ms" doc:"the wait after the wave's last swap, in milliseconds"`
	SoakedMS   int64          `json:"soaked_ms" doc:"how much of it has passed, in milliseconds"`
	Approve    bool           `json:"approve" doc:"true: the next wave waits for a person"`
	Approvers  []string       `json:"approvers" doc:"the persons whose approval counts; empty: everyone but the author"`
	ApprovedBy string         `json:"approved_by" doc:"who approved the wave; empty: no one"`
	Open       bool           `json:"open" doc:"of the swaps wave_ready and barrier: true once its members may swap"`
}

// Member is one server of a set.
type Member struct {
	Server   string            `json:"server" doc:"name of the server"`
	Wave     string            `json:"wave" doc:"name of its wave"`
	State    string            `json:"state" enum:"planned,started,ready,released,retrying,failed,unknown,done,applied,skipped,withdrawn,undoing,stuck,undone" doc:"state of the member; applied: it had the change before the set; stuck: its undo has failed"`
	Why      string            `json:"why" doc:"the reason for the state, for people; may be empty"`
	Plan     string            `json:"plan" enum:",fit,applied,drifted,refused" doc:"outcome of the fleet plan; empty: not planned yet"`
	Attempt  int               `json:"attempt" doc:"number of starts and undos"`
	Change   string            `json:"change" doc:"id of its change in the queue; empty before its first order"`
	Host     string            `json:"host" doc:"its label host; may be empty"`
	Cell     string            `json:"cell" doc:"its label cell; may be empty"`
	Labels   map[string]string `json:"labels" doc:"all labels of the server"`
	Gone     bool              `json:"gone" doc:"true: the server has left the inventory"`
	Failed   bool              `json:"failed" doc:"true: it counts for the stop rule"`
	Working  bool              `json:"working" doc:"true: it counts for the limits now"`
	RetryAt  *time.Time        `json:"retry_at" doc:"of retrying: when the next attempt may begin"`
	Swapped  *time.Time        `json:"swapped" doc:"when its swap was seen; null if it does not have the change by this set"`
	ExitCode *int              `json:"exit_code" doc:"exit code of its last run (docs/exit-codes.md); null if there is none"`
	Requests []string          `json:"requests" doc:"what a person may ask for it now: again, skip, release"`
}

// Misfit reports whether the plan of a member keeps it from starting.
func (m Member) Misfit() bool {
	return m.State == string(rollout.StepPlanned) && m.Plan != "" && m.Plan != string(rollout.OutcomeFit)
}

// Ready reports whether members of a wave wait before their swap.
func (w Wave) Ready() bool { return w.Counts[string(rollout.StepReady)] > 0 }

// Request is what a person may ask for.
type Request struct {
	Ask     string   `json:"ask" enum:"approve,reject,release,again,skip,cancel,undo" doc:"the request: POST /v1/sets/ID/ASK"`
	Wave    string   `json:"wave" doc:"the wave that it is about; empty: the set, or a server"`
	Servers []string `json:"servers" doc:"of again, skip and release: the servers that it may be about"`
	Role    string   `json:"role" doc:"the role that it needs"`
}

// Ask is a request of a person.
type Ask struct {
	Wave   string `json:"wave,omitempty" maxLength:"200" doc:"of approve and release: name of a wave"`
	Server string `json:"server,omitempty" maxLength:"64" doc:"of again, skip and release: name of a server"`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"why, for the journal"`
	By     string `json:"by,omitempty" maxLength:"200" doc:"who asks, in free text"`
}
