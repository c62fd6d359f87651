package event

import (
	"fmt"
	"time"
)

// Event is one of the types of this package.
type Event interface{ event() }

// Listener receives every event of a migration. It is called concurrently.
type Listener func(Event)

// Tee returns a listener that hands every event to each of the listeners.
func Tee(listeners ...Listener) Listener {
	return func(e Event) {
		for _, l := range listeners {
			l(e)
		}
	}
}

// Discard is the listener that does nothing.
func Discard(Event) {}

// Phase is a stage of a migration, in the order in which they follow each other.
type Phase string

// The phases of a migration.
const (
	PhaseCheck   Phase = "check"   // facts are read, the plan is made, nothing is written
	PhaseNative  Phase = "native"  // the server itself changes the table; a shadow takes over where it can't
	PhaseShadow  Phase = "shadow"  // the state table is created; the shadow is created and altered
	PhasePrescan Phase = "prescan" // rows are looked for that the shadow would not take
	PhaseStart   Phase = "start"   // start position, first heartbeat
	PhaseCopy    Phase = "copy"    // row copy and apply
	PhaseIndex   Phase = "index"   // deferred secondary indexes are built
	PhaseCatchUp Phase = "catchup" // the backlog is brought down before verify, and before the lock
	PhaseVerify  Phase = "verify"  // the shadow is compared with what the ALTER makes of the source
	PhaseHold    Phase = "hold"    // the table must not be changed yet; changes are applied
	PhaseCutover Phase = "cutover" // lock, drain, swap
	PhaseLock    Phase = "lock"    // of a rehearsal: lock, drain, and the lock is given back
	PhaseCleanup Phase = "cleanup" // what the run created goes
	PhaseDone    Phase = "done"
)

// Phases returns all phases, in their order.
func Phases() []Phase {
	return []Phase{
		PhaseCheck, PhaseNative, PhaseShadow, PhasePrescan, PhaseStart, PhaseCopy, PhaseIndex, PhaseCatchUp, PhaseVerify, PhaseHold,
		PhaseCutover, PhaseLock, PhaseCleanup, PhaseDone,
	}
}

// PhaseEntered says that the migration went over to a phase.
type PhaseEntered struct {
	Phase Phase
	At    time.Time
}

// Note is something that an operator should read once.
type Note struct {
	Text string
	At   time.Time
}

// Progress is the state of a migration at one moment. It is emitted about twice a second.
type Progress struct {
	Phase              Phase
	At                 time.Time
	Elapsed            time.Duration
	RowsCopied         int64         // rows that the row copy has written
	RowsTotal          int64         // the server's estimate; may be wrong by tens of percent
	Fraction           float64       // of the row copy, 0 to 1
	CopyRate           float64       // rows a second, smoothed
	ChunkRows          int           // rows in a chunk now
	Workers            float64       // row copy workers that may work; 1.5: the second one half of its time
	Statements         float64       // of the application, a second; 0 where that is not known, or nobody is there
	StatementTime      time.Duration // time of such a statement on the server, on average
	StatementTimeAlone time.Duration // likewise in the moments in which nothing of ours is at work
	ReplicaLag         time.Duration // of the replica that is farthest behind; negative: none is watched
	Slowdown           float64       // part by which the application's statements take longer through this run's work; negative: not known

	Captured      int64         // changed keys read from the binlog
	Applied       int64         // keys synced from the backlog
	Dropped       int64         // keys above the frontier that the row copy reads anyway (law L4)
	Merged        int64         // changes of a key that was already in the backlog
	Backlog       int           // keys not yet applied
	BacklogLimit  int           // the bound at which capture waits
	ApplyRate     float64       // keys a second, smoothed
	CaptureDelay  time.Duration // age of the last heartbeat that came back
	BinlogRead    int64         // bytes of binlog received
	Position      string        // place in the binlog up to which it was received, as file:offset; "" before capture begins
	ETA           time.Duration // until the cut-over may begin; negative: not known
	Retries       int64         // syncs that were tried again (deadlock, lock wait, stale duplicate)
	IndexFraction float64       // of a step of the server's build, 0 to 1, where it tells; else 0
	BuildStep     string        // of that build, in the server's words; "" where none is at work
	Verified      int64         // rows of the source compared
	Scanned       int64         // rows of the source that the prescan has looked at
}

// ChunkCopied says that one chunk of the row copy is committed.
type ChunkCopied struct {
	Rows    int64
	Elapsed time.Duration
	At      time.Time
}

// Mismatch is a value of the shadow that is not what the ALTER makes of the source's.
type Mismatch struct {
	Key      string // of the row, as a literal
	Column   string // of the shadow; "" where one of the tables has no such row
	Expected string // what the ALTER makes of the source's value, shortened; "NULL" for NULL
	Found    string // in the shadow
	At       time.Time
}

// Verified says that the tables were compared.
type Verified struct {
	Rows     int64 // of the source
	Suspects int   // rows that differed at first, most of them as a change was not yet applied
	Repaired int   // mismatches that were synced anew
	Unproven int   // rows that changed all the time: they are compared under the lock
	// Uncompared are the columns that cannot be compared, each with its reason.
	Uncompared []string
	Elapsed    time.Duration
	At         time.Time
}

// Finding are rows of the source that the ALTER would not take as they are.
type Finding struct {
	Kind    string   // "null", "too_long", ...: package prescan lists them
	Name    string   // of the column, constraint or key that doesn't take them
	What    string   // is wrong with them, for people
	Rows    int64    //
	AtLeast bool     // there are more than Rows
	Keys    []string // of the first rows, as literals
	Query   string   // the SELECT that lists them all
	Fix     string   // a clause that takes them; "" where there is none
	Refused bool     // a run stops at such a row; else it changes it without an error
	At      time.Time
}

// Prescanned says that the source was looked at.
type Prescanned struct {
	Needed  bool  // false: the definitions prove by themselves that the shadow takes every row
	Rows    int64 // whose values were looked at; 0 where only duplicates may be
	Refused int   // findings that stop a run
	Elapsed time.Duration
	At      time.Time
}

// Blocker is a session that holds a metadata lock that we need.
type Blocker struct {
	ConnectionID uint64
	User         string
	Host         string
	Command      string        // as in the process list: Sleep, Query
	Age          time.Duration // since its transaction or its statement began
	Statement    string        // running, or the last one of an idle transaction; may be ""
	Table        string        // schema.table whose lock it holds; "" for a snapshot (law L10)
	Why          string        // what it stands in the way of
	Snapshot     bool          // it is a read view that is in the way, and no lock (law L10)
	Since        uint64        // the server's number of the statement that took the lock; 0 for a snapshot
	Program      string        // as it has told the server; may be ""
	Lock         string        // kind of the lock, as performance_schema.metadata_locks spells it; "" for a snapshot
	Role         Role          // what it is, if it is no ordinary client
	Changed      int64         // rows that its transaction has changed; -1: not known
}

// Who names the session.
func (b Blocker) Who() string {
	return fmt.Sprintf("connection %d of %s@%s", b.ConnectionID, b.User, b.Host)
}

// Role is what a session is that is never ended by us.
type Role string

// The roles of sessions.
const (
	RoleReplication Role = "replication"
	RoleBackup      Role = "backup"
	RoleMidstream   Role = "midstream"
)

// Blocked says that the cut-over waits because sessions stand in its way.
// It is emitted when the blockers change and at least every 10 s while they last.
type Blocked struct {
	Blockers []Blocker
	Waiting  time.Duration // since there has been somebody in the way without a break
	At       time.Time
}

// blockedFor is how long what Blocked says holds, where it is not said again.
const blockedFor = 15 * time.Second

// Lasts says that they may be in the way still. Nothing says that they have gone.
func (b Blocked) Lasts(now time.Time) bool { return now.Sub(b.At) < blockedFor }

// Killed says that a session was ended because it stood in the way for too long.
type Killed struct {
	Blocker Blocker
	Waited  time.Duration // for it
	At      time.Time
}

// Gate is a reason for which the work waits.
type Gate struct {
	Name  string // stable: "replica-lag", "max-load"
	Why   string // for people, with numbers
	Since time.Time
}

// Throttled says which gates are closed: the row copy, or more, waits for them; none: it goes on. It
// is emitted when that changes and at least every 10 s while it lasts.
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

// SwapDone says that the swap happened.
type SwapDone struct {
	LockHeld time.Duration // from the grant of the lock to its release
	Drained  int           // keys applied under the lock
	Attempts int
	At       time.Time
}

// Controlled says that somebody has given the run a command.
type Controlled struct {
	Command string // as it was given: "pause --stop-capture", "set lock-wait=1s"
	By      string // who: the user, the process
	Text    string // what now holds, or why nothing was done
	Refused bool   // nothing was done
	At      time.Time
}

// Resumed says that the work of an earlier run is gone on with.
type Resumed struct {
	Rows  int64     // that it had copied
	Taken time.Time // when its last checkpoint was taken
	Text  string    // all of it, for people
	At    time.Time
}

// Retry says that a sync is tried again.
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
func (SwapDone) event()     {}
func (Retry) event()        {}
func (Mismatch) event()     {}
func (Verified) event()     {}
func (Finding) event()      {}
func (Prescanned) event()   {}
func (Controlled) event()   {}
func (Resumed) event()      {}
