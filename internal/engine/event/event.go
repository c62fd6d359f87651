package event

import (
	"fmt"
	"time"
)

// Event is one of the types of this package.
type Event interface{ event() }

// Listener receives every event of a migration. It is called concurrently.
type Listener func(Event)

// Tee returns a listener that passes every event to each of the listeners.
func Tee(listeners ...Listener) Listener {
	return func(e Event) {
		for _, l := range listeners {
			l(e)
		}
	}
}

// Discard is the listener that does nothing.
func Discard(Event) {}

// Phase is a stage of a migration. The phases follow each other in the order of the constants.
type Phase string

// The phases of a migration.
const (
	PhaseCheck Phase = "check" // read facts, plan; nothing is written
	// The server itself changes the table; a shadow takes over if it can't.
	PhaseNative Phase = "native"
	// The state table is created; the shadow is created and altered.
	PhaseShadow Phase = "shadow"
	// The server checks that the shadow accepts every row.
	PhasePrescan Phase = "prescan"
	PhaseStart   Phase = "start"   // start position, first heartbeat
	PhaseCopy    Phase = "copy"    // row copy and apply
	PhaseIndex   Phase = "index"   // deferred secondary indexes are built
	PhaseCatchUp Phase = "catchup" // apply catches up before verify or lock
	// The shadow is compared with what the ALTER makes of the source.
	PhaseVerify Phase = "verify"
	// The swap is not allowed yet; changes are applied.
	PhaseHold    Phase = "hold"
	PhaseCutover Phase = "cutover" // lock, drain, swap
	PhaseLock    Phase = "lock"    // of a rehearsal: lock, drain, unlock
	// A row change deletes or updates rows, and then counts the rows that match.
	PhaseRows    Phase = "rows"
	PhaseRecount Phase = "recount"
	PhaseCleanup Phase = "cleanup" // what the run created is removed
	PhaseDone    Phase = "done"
)

// Phases returns all phases, in their order.
func Phases() []Phase {
	return []Phase{
		PhaseCheck, PhaseNative, PhaseShadow, PhasePrescan, PhaseStart, PhaseCopy, PhaseIndex, PhaseCatchUp, PhaseVerify, PhaseHold,
		PhaseCutover, PhaseLock, PhaseRows, PhaseRecount, PhaseCleanup, PhaseDone,
	}
}

// PhaseEntered means that the migration entered a phase.
type PhaseEntered struct {
	Phase Phase
	At    time.Time
	Undo  bool // it brings an old table up to date
}

// Note is something that an operator should read once.
type Note struct {
	Text string
	At   time.Time
	// Usual means that no operator has to know of it.
	Usual bool
}

// Progress is the state of a migration at one moment. It is emitted about twice a second.
type Progress struct {
	Phase      Phase
	At         time.Time
	Elapsed    time.Duration
	RowsCopied int64   // rows that the row copy has written
	RowsTotal  int64   // an estimate, off by tens of percent
	Fraction   float64 // of the row copy, 0 to 1
	CopyRate   float64 // rows a second, smoothed
	ChunkRows  int     // rows in a chunk now
	// Workers are the row copy workers that may work; 1.5 means that the second one works half of
	// the time.
	Workers float64
	// Statements are the application's, per second; 0 if unknown, or if there are none.
	Statements float64
	// StatementTime is the average time of such a statement on the server.
	StatementTime time.Duration
	// StatementTimeAlone is the same, in the moments in which the run does not work.
	StatementTimeAlone time.Duration
	// ReplicaLag is the lag of the slowest replica; negative: no replica is watched.
	ReplicaLag time.Duration
	// Slowdown is the part by which the run makes the application's statements take longer;
	// negative: not known.
	Slowdown float64

	Captured int64 // changed keys read from the binlog
	Applied  int64 // keys synced from the backlog, counted at each sync
	// Changed is the number of rows, by their keys, that a lazy undo has found changed since the swap, without unfit ones; nil if they are
	// not counted.
	Changed *int64
	// Dropped are keys above the frontier, which the row copy reads anyway (law L4).
	Dropped      int64
	Merged       int64         // changes of a key that was already in the backlog
	Backlog      int           // keys not yet applied
	BacklogLimit int           // the bound at which capture waits
	ApplyRate    float64       // keys a second, smoothed
	CaptureDelay time.Duration // age of the last heartbeat that came back
	BinlogRead   int64         // bytes of binlog received
	// Position is the place in the binlog up to which it was received, as file:offset; "" before
	// capture begins.
	Position string
	// ETA is the time until the run ends, or until the cut-over may begin if it is held; negative: not
	// known. In about 85 of 100 cases, it is between ETALeast and ETAMost.
	ETA, ETALeast, ETAMost time.Duration
	// Retries are syncs that were tried again (deadlock, lock wait, stale duplicate).
	Retries int64
	// IndexFraction is the finished part of a step of the server's build, 0 to 1; 0 if the server
	// does not report it.
	IndexFraction float64
	// BuildStep is that step, in the server's words; "" if no build is at work.
	BuildStep string
	Verified  int64 // rows of the source compared
	// Compared is when the last comparison ended; zero if this run has made none. A lazy undo may compare changed rows only.
	Compared time.Time
	Scanned  int64 // rows that the prescan has checked
	// Deadline is the last report about the deadline; By is zero if there is none.
	Deadline Deadline
	// Unfit is what an undo knows of rows that the old definition refuses; nil for other runs.
	Unfit *Unfit
}

// stillEvery is the time after which a progress is news although nothing has changed.
const stillEvery = time.Minute

// Still reports whether a progress is no news after an earlier one, because the run is held and has found no other unfit rows
// since, and not much time has gone by. A run may be held for days.
func (p Progress) Still(earlier Progress) bool {
	if p.Phase != PhaseHold || earlier.Phase != PhaseHold || p.At.Sub(earlier.At) >= stillEvery {
		return false
	}
	return p.Unfit == nil || earlier.Unfit != nil && p.Unfit.Rows == earlier.Unfit.Rows
}

// Unfit are rows that the old definition refuses: their number, and the keys of some, as literals.
type Unfit struct {
	Rows int64
	Keys []string
}

// Explained reports how the server would run the application's queries on the new table.
type Explained struct {
	Checked int // queries that were explained on both tables
	Worse   []WorsePlan
	// Cut are texts that the server has cut, Unread those that the parser cannot read, and Refused those that the server did not
	// explain. They were not checked.
	Cut, Unread, Refused int
	// Why is the reason if nothing could be checked; else "".
	Why string
	At  time.Time
}

// Found reports whether the application has queries of the table, as far as the server shows them.
func (e Explained) Found() bool { return e.Checked+e.Cut+e.Unread+e.Refused > 0 }

// Soak reports how a drop in two acts stands, when that changes.
type Soak struct {
	State  SoakState
	What   string // is dropped
	Until  time.Time
	Named  []Naming // statements that name it, which no earlier event had
	Doubts string   // what cannot be known; "" for nothing
	At     time.Time
}

// SoakState is how far a soak has come.
type SoakState string

// The states of a soak.
const (
	SoakBegun    SoakState = "soaking"
	SoakHeld     SoakState = "held"     // its time is over, and the drop waits for an operator
	SoakReleased SoakState = "released" // an operator has released the drop
	SoakDue      SoakState = "due"      // its time is over, and the drop begins
)

// Naming is a statement that names what is to be dropped.
type Naming struct {
	Query, Database, How, User string
	Runs                       int64
	First, Last                time.Time
}

// WorsePlan is a query that would run slower, or fail.
type WorsePlan struct {
	Query string // as the server keeps it, with the values of one run
	Runs  int64  // since the server's statistics began
	How   string // for people
	Fails bool
}

// Deadline reports whether a run will end by its deadline. It is emitted each minute, and when the
// state changes.
type Deadline struct {
	By    time.Time
	State DeadlineState
	// Expected is when the run will end; zero if that is not known. If the deadline cannot be met, it
	// is the end at the highest limit, and zero if no time is left in which the run may work.
	Expected time.Time
	// Limit is how much longer the application's statements may take now, as --max-slowdown writes it.
	Limit string
	// Factor is that limit as a multiple of --max-slowdown.
	Factor float64
	// Highest means that the limit cannot rise any more.
	Highest bool
	At      time.Time
}

// DeadlineState tells whether a deadline will be met.
type DeadlineState string

// The states of a deadline.
const (
	// DeadlineUnknown means that too little was seen.
	DeadlineUnknown DeadlineState = ""
	DeadlineMet     DeadlineState = "met"
	// DeadlineBehind means that the run would be late at this limit, and raises it.
	DeadlineBehind DeadlineState = "behind"
	// DeadlineImpossible means that the run will be late even at the highest limit.
	DeadlineImpossible DeadlineState = "impossible"
)

// ChunkCopied means that one chunk of the row copy is committed.
type ChunkCopied struct {
	Rows    int64
	Elapsed time.Duration
	At      time.Time
}

// Mismatch is a value of the shadow that differs from what the ALTER makes of the source's value.
type Mismatch struct {
	Key string // of the row, as a literal
	// Column is the shadow's; "" if one of the tables has no such row.
	Column string
	// Expected is what the ALTER makes of the source's value, shortened; "NULL" for NULL.
	Expected string
	Found    string // in the shadow
	At       time.Time
}

// Verified means that the tables were compared.
type Verified struct {
	Rows    int64 // of the source
	LeftOut int64 // rows of the source that --keep left out
	// Suspects are rows that differed at first, mostly because a change was not yet applied.
	Suspects int
	Repaired int // mismatches that were synced again
	// Unproven are rows that changed all the time: they are compared under the lock.
	Unproven int
	// Unfit are rows that an undo has found not to fit. Records do not have it.
	Unfit int
	// Uncompared are columns that cannot be compared, and rows that were not, each with its reason.
	Uncompared []string
	Elapsed    time.Duration
	At         time.Time
}

// Finding is a group of the source's rows that the ALTER would refuse or change.
type Finding struct {
	Kind string // "null", "too_long", ...: package prescan lists them
	// Name is the column, constraint or key that refuses them.
	Name    string
	What    string   // the problem, for people
	Rows    int64    //
	AtLeast bool     // more rows exist than Rows
	Keys    []string // of the first rows, as literals
	Query   string   // the SELECT that lists all of them
	Fix     string   // a clause that accepts them, or ""
	// Refused means that a run stops at such a row. Otherwise it changes the row without an error.
	Refused bool
	At      time.Time
}

// UnfitFound means that an undo has found a row that the old definition refuses, and that the definition has taken
// all rows before it.
type UnfitFound struct {
	Key   string // of the row, as a literal
	Cause string // the server's reason
	At    time.Time
}

// Parked means that an undo has copied the rows that the old definition refuses.
type Parked struct {
	Table string   // the table with the copies: schema.table
	Rows  int      //
	Keys  []string // of the first rows, as literals
	// Values is the table with the values that dropped columns had in these rows, as Table; "" if there are none.
	Values string
	At     time.Time
}

// Prescanned means that the prescan has checked the source.
type Prescanned struct {
	// Needed is false if the definitions alone prove that the shadow accepts every row.
	Needed bool
	// Rows are the rows whose values were checked; 0 if only duplicates are possible.
	Rows    int64
	Refused int // findings that stop a run
	Elapsed time.Duration
	At      time.Time
}

// Blocker is a session that blocks us, mostly by a metadata lock that we need.
type Blocker struct {
	ConnectionID uint64
	User         string
	Host         string
	Command      string        // as in the process list: Sleep, Query
	Age          time.Duration // of its transaction or its statement
	// Statement is running, or the last one of an idle transaction; it may be "".
	Statement string
	// Table is the schema.table whose lock the session holds; "" for a snapshot (law L10).
	Table string
	Why   string // what it blocks
	// Snapshot means that a read view blocks us, and no lock (law L10).
	Snapshot bool
	// Since is the server's number of the statement that took the lock; 0 for a snapshot.
	Since   uint64
	Program string // the client's own name; may be ""
	// Lock is the kind of the lock, as in performance_schema.metadata_locks; "" for a snapshot.
	Lock string
	// Role is the session's, if it is no ordinary client.
	Role Role
	// Changed are the rows that its transaction has changed; -1: not known.
	Changed int64
}

// Who names the session.
func (b Blocker) Who() string {
	return fmt.Sprintf("connection %d of %s@%s", b.ConnectionID, b.User, b.Host)
}

// Role is the kind of a session that a run never kills.
type Role string

// The roles of sessions.
const (
	RoleReplication Role = "replication"
	RoleBackup      Role = "backup"
	RoleMidstream   Role = "midstream"
)

// Blocked means that the cut-over waits because sessions block it. It is emitted when the blockers
// change, and at least every 10 s while they remain.
type Blocked struct {
	Blockers []Blocker
	// Run is the table by which commands find the run; empty if no command can reach it.
	Run string
	// Waiting is how long sessions have blocked the cut-over without a break.
	Waiting time.Duration
	// KillAfter is after how long the run kills a session that blocks it; 0: it kills none. Kills is how many of these it is going to
	// kill, and KillIn the time until the first. Records do not have them.
	KillAfter, KillIn time.Duration
	Kills             int
	At                time.Time
}

// blockedFor is how long a Blocked event holds if it is not repeated.
const blockedFor = 15 * time.Second

// Lasts reports whether the sessions may still block the cut-over. No event reports that they have
// gone.
func (b Blocked) Lasts(now time.Time) bool { return now.Sub(b.At) < blockedFor }

// Until is the event as it is at a later moment: the ages in it go on.
func (b Blocked) Until(now time.Time) Blocked {
	more := max(0, now.Sub(b.At))
	all := make([]Blocker, len(b.Blockers))
	for i, one := range b.Blockers {
		one.Age += more
		all[i] = one
	}
	b.Blockers, b.Waiting, b.KillIn, b.At = all, b.Waiting+more, max(0, b.KillIn-more), b.At.Add(more)
	return b
}

// Killed means that the run killed a session that had blocked it for too long.
type Killed struct {
	Blocker Blocker
	Waited  time.Duration // how long the session was seen to block the lock
	At      time.Time
}

// Gate is a reason for which the work waits.
type Gate struct {
	Name  string // stable: "replica-lag", "max-load"
	Why   string // for people, with numbers
	Since time.Time
}

// Throttled lists the gates that are closed: the row copy, or more, waits for them. If there are
// none, the work continues. It is emitted when that changes, and at least every 10 s while gates
// are closed.
type Throttled struct {
	Gates []Gate
	At    time.Time
}

// LockAttempt is one request for the lock of the cut-over, or of the server's own statement.
type LockAttempt struct {
	Number  int           // 1-based
	Granted bool          //
	Waited  time.Duration // until it was granted or withdrawn
	At      time.Time
}

// Prepared means that the run has its lock for a round of a swap on several servers, and all changes are applied.
type Prepared struct {
	Round int
	Hold  time.Duration // from the request for the round until the lock is given back, unless a commit comes
	At    time.Time
}

// SwapDone means that the swap happened.
type SwapDone struct {
	LockHeld time.Duration // from the grant of the lock to its release
	Drained  int           // keys applied under the lock
	Attempts int
	At       time.Time
	// Position is the place in the server's binlog behind the RENAME, as file:offset, and GTID its transaction: readers of the binlog
	// see the new definition from there on. "" if it is not known, or has no GTID.
	Position, GTID string
}

// Controlled means that an operator has given the run a command.
type Controlled struct {
	// Command is unchanged, such as "pause --stop-capture" or "set lock-wait=1s".
	Command string
	By      string // the user and the process
	Text    string // what now holds, or why not
	Refused bool   // nothing was done
	At      time.Time
}

// Resumed means that the run resumes the work of an earlier run.
type Resumed struct {
	Rows  int64     // that the earlier run had copied
	Taken time.Time // the time of its last checkpoint
	Text  string    // the same, for people
	At    time.Time
}

// Retry means that a sync is tried again.
type Retry struct {
	What  string // "chunk" or "keys"
	Cause string // the server's error
	At    time.Time
}

func (PhaseEntered) event() {}
func (Note) event()         {}
func (Progress) event()     {}
func (ChunkCopied) event()  {}
func (Blocked) event()      {}
func (Killed) event()       {}
func (Throttled) event()    {}
func (LockAttempt) event()  {}
func (Prepared) event()     {}
func (SwapDone) event()     {}
func (Retry) event()        {}
func (Mismatch) event()     {}
func (Verified) event()     {}
func (Explained) event()    {}
func (Soak) event()         {}
func (Finding) event()      {}
func (Prescanned) event()   {}
func (Controlled) event()   {}
func (Resumed) event()      {}
func (Deadline) event()     {}
func (UnfitFound) event()   {}
func (Parked) event()       {}

// Count is the number of the rows, in words.
func (f Finding) Count() string {
	text := fmt.Sprintf("%d rows", f.Rows)
	if f.Rows == 1 {
		text = "1 row"
	}
	if f.AtLeast {
		text = "at least " + text
	}
	return text
}
