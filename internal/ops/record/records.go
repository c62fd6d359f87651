package record

import (
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/ops/reach"
)

// MS is a duration in milliseconds, to the microsecond.
type MS float64

// MSOf is a duration in milliseconds.
func MSOf(d time.Duration) MS { return MS(float64(d.Microseconds()) / 1000) }

// Duration is it as Go has it.
func (m MS) Duration() time.Duration { return time.Duration(float64(m)*1000) * time.Microsecond }

// Head is the beginning of every record.
type Head struct {
	Event string `json:"event" doc:"name of the event"`
	At    string `json:"at" doc:"when, RFC 3339 with milliseconds, UTC"`
}

// Run tells what a run is: the first line of its history. (--json begins with the plan.)
type Run struct {
	Head
	ID        string `json:"id" doc:"id of the run: the name of its file, without .jsonl"`
	Table     string `json:"table" doc:"the table that is changed: database.table, a part with a dot or a backtick in backticks"`
	Alter     string `json:"alter" doc:"the clauses of the ALTER TABLE, or the statement"`
	Into      string `json:"into" doc:"the name that the table has after the swap (--into); empty: it keeps its own"`
	Server    string `json:"server" doc:"host:port, or the path of a socket"`
	Rehearsal string `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty: the table is changed"`
	Undoes    bool   `json:"undoes" doc:"true: the run takes the last change of the table back"`
	Group     string `json:"group" doc:"with --together: the same for all runs whose tables are swapped in one step; otherwise empty"`
	Follows   bool   `json:"follows" doc:"true: the run follows the table, and takes the last change back once midstream undo releases it"`
	// Flags is null in records of earlier versions.
	Flags   []string    `json:"flags" doc:"flags that an undo was given, without the flags that reach the server or choose what is printed; null or empty for others"`
	Reach   reach.Flags `json:"reach" doc:"flags that reach the server, as they can be typed again, without a password"`
	User    string      `json:"user" doc:"the user who gave the command"`
	Host    string      `json:"host" doc:"the machine that runs it"`
	Process int         `json:"process" doc:"id of the run's process"`
	Version string      `json:"version" doc:"version of midstream"`
}

// Plan tells what a run will do.
type Plan struct {
	Head
	Rehearsal     string     `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty: the table is changed"`
	Table         string     `json:"table" doc:"the table that is changed: database.table"`
	Alter         string     `json:"alter" doc:"what follows ALTER TABLE name; empty if there is nothing to alter"`
	Create        string     `json:"create" doc:"the CREATE TABLE of a table that does not exist (--to); otherwise empty"`
	Place         string     `json:"place" doc:"file:line of the desired definition (--to); otherwise empty"`
	Method        string     `json:"method" doc:"none, instant, inplace, copy or shadow; create if the table does not exist (--to); rows for purge and update"`
	Why           string     `json:"why" doc:"the reason for this method"`
	Others        []Rejected `json:"others" doc:"the methods that were not chosen, the lightest first"`
	Warning       string     `json:"warning" doc:"the reason against a method that you asked for; may be empty"`
	ServerAddress string     `json:"server_address" doc:"host:port, or the path of a socket"`
	ServerVersion string     `json:"server_version" doc:"flavor and version"`
	Replicas      int        `json:"replicas" doc:"replicas attached to the server"`
	CaptureFrom   string     `json:"capture_from" doc:"host:port of the replica from which changes are read; empty if they are read from the server itself"`
	Capture       string     `json:"capture" doc:"how a run that copies rows captures changes: binlog or trigger"`
	CaptureWhy    string     `json:"capture_why" doc:"the reason for triggers; empty if the run reads the binlog"`
	Key           string     `json:"key" doc:"the key by which the run copies rows and follows changes"`
	KeyColumns    []string   `json:"key_columns" doc:"columns of the key"`
	Keep          string     `json:"keep" doc:"the condition that rows of the new table meet (--keep); empty: all rows are copied"`
	Set           []string   `json:"set" doc:"expressions for columns of the new table (--set), each as column=expression"`
	Into          string     `json:"into" doc:"the name that the new table gets (--into); empty: that of the table"`
	IntoView      bool       `json:"into_view" doc:"the table's name is a view over the new table afterwards (--into-view)"`
	RowsEstimate  int64      `json:"rows_estimate" doc:"number of rows, as the server estimates it"`
	DataBytes     int64      `json:"data_bytes" doc:"size of the rows, as the server estimates it"`
	IndexBytes    int64      `json:"index_bytes" doc:"size of the secondary indexes, as the server estimates it"`
	Shadow        string     `json:"shadow" doc:"name of the table that is built"`
	Old           string     `json:"old" doc:"name of the old table after the swap"`
	State         string     `json:"state" doc:"name of the table that holds the run's state"`
	Prediction    Prediction `json:"prediction" doc:"the expected cost of the run"`
	Columns       []Column   `json:"columns" doc:"the columns that change, according to the statement"`
	Grants        []string   `json:"grants" doc:"the privileges that the run needs, as GRANT spells them"`
	Soak          *SoakPlan  `json:"soak" doc:"both acts of a drop with --soak (docs/soak.md); null for other changes"`
	Former        string     `json:"former" doc:"what the run does with the work of an earlier run; empty if there is none"`
	Risks         []Risk     `json:"risks" doc:"the risks that the operator should know; may be empty"`
	Statement     string     `json:"statement" doc:"RENAME TABLE, DROP TABLE, TRUNCATE TABLE, CREATE TABLE, DELETE or UPDATE; empty for an ALTER"`
	Steps         []string   `json:"steps" doc:"the steps of such a statement, in order, for people; empty for an ALTER"`
	Undoes        *Undoes    `json:"undoes" doc:"the change that the run takes back; null unless the run is an undo"`
	Undo          *Undoable  `json:"undo" doc:"whether the change can be undone after the run; null for an undo, a rehearsal, and a statement on complete tables"`
	RowsMatch     int64      `json:"rows_match_estimate" doc:"purge and update: number of rows that meet the condition, as the server estimates it; negative: not known"`
	Rest          string     `json:"rest" doc:"purge: the table that takes the deleted rows; empty for none"`
	Locks         []string   `json:"locks" doc:"the tables that the statement locks for a moment; empty for an ALTER"`
}

// Column tells what becomes of a column.
type Column struct {
	Source string `json:"source" doc:"the column's name before; empty if it is new"`
	Target string `json:"target" doc:"the column's name afterwards; empty if it is dropped"`
	What   string `json:"what" doc:"renamed, added, dropped, or redefined"`
}

// Columns returns the records of a list.
func Columns(changes []plan.ColumnChange) []Column {
	records := make([]Column, 0, len(changes))
	for _, c := range changes {
		records = append(records, Column(c))
	}
	return records
}

// Rejected tells a method that was not taken.
type Rejected struct {
	Method string `json:"method" doc:"the method"`
	Why    string `json:"why" doc:"the reason why it was not chosen"`
}

// Rejections returns the records of a list.
func Rejections(others []plan.Rejected) []Rejected {
	records := make([]Rejected, 0, len(others))
	for _, o := range others {
		records = append(records, Rejected{string(o.Method), o.Why})
	}
	return records
}

// Risk tells something that the operator should know.
type Risk struct {
	Code string `json:"code" doc:"stable name of the kind of risk or problem"`
	What string `json:"what" doc:"what was found"`
	Why  string `json:"why" doc:"why it matters"`
	Fix  string `json:"fix" doc:"what to do; may be empty"`
}

// Risks returns the records of a list.
func Risks(risks []plan.Risk) []Risk {
	records := make([]Risk, 0, len(risks))
	for _, r := range risks {
		records = append(records, Risk{string(r.Code), r.What, r.Why, r.Fix})
	}
	return records
}

// Phase tells the begin of a phase.
type Phase struct {
	Head
	Undo  bool   `json:"undo" doc:"true: a phase of an undo that brings an old table up to date"`
	Phase string `json:"phase" doc:"check, native, shadow, prescan, start, copy, index, catchup, verify, hold, cutover, lock (in a rehearsal), rows and recount (of purge and update), cleanup or done. catchup comes before verify and before each cutover or lock"`
}

// Note tells something to read once.
type Note struct {
	Head
	Text string `json:"text" doc:"a message that is printed once"`
}

// Resumed tells that the work of an earlier run is gone on with.
type Resumed struct {
	Head
	Rows  int64  `json:"rows" doc:"rows that the earlier run had copied"`
	Taken string `json:"taken" doc:"time of its last checkpoint, in the format of at"`
	Text  string `json:"text" doc:"the complete message, for people"`
}

// Progress tells how far a run is.
type Progress struct {
	Head
	Phase           string   `json:"phase" doc:"the phase that the run is in"`
	ElapsedMS       MS       `json:"elapsed_ms" doc:"time since the run began"`
	RowsCopied      int64    `json:"rows_copied" doc:"rows written by the row copy"`
	RowsTotal       int64    `json:"rows_total" doc:"rows expected, an estimate"`
	Fraction        float64  `json:"fraction" doc:"completed part of the row copy, 0 to 1"`
	CopyRowsPerS    float64  `json:"copy_rows_per_s" doc:"rate of the row copy, smoothed"`
	ChunkRows       int      `json:"chunk_rows" doc:"current number of rows in a chunk"`
	Workers         float64  `json:"workers" doc:"row copy workers that may work: fewer if the server is busy; with 1.5 the second works half of its time"`
	Statements      float64  `json:"application_statements_per_s" doc:"statements of the application that end per second; 0: not known, or no application"`
	FeltMS          MS       `json:"application_statement_ms" doc:"mean time of a statement of the application on the server; 0: not known"`
	FeltAloneMS     MS       `json:"application_statement_alone_ms" doc:"the same mean time while this run rests; 0: not known"`
	ReplicaLagMS    *MS      `json:"replica_lag_ms" doc:"lag of the replica that is furthest behind; null: no replica is watched"`
	Slower          *float64 `json:"application_slower" doc:"part by which this run makes the application's statements longer, on average; null: not known, or no application"`
	Captured        int64    `json:"captured_changes" doc:"changes read from the binlog"`
	Applied         int64    `json:"applied_keys" doc:"keys synced from the backlog; a key that changes again is counted again"`
	Changed         *int64   `json:"changed_rows" doc:"of a lazy undo: rows found changed, new or deleted since the swap, each key once, without unfit rows; null: not counted"`
	Dropped         int64    `json:"dropped_changes" doc:"changes ahead of the row copy, which reads their rows anyway"`
	Merged          int64    `json:"merged_changes" doc:"changes of a key that was in the backlog already"`
	Backlog         int      `json:"backlog_keys" doc:"keys not yet applied"`
	BacklogLimit    int      `json:"backlog_limit_keys" doc:"number of keys in the backlog at which capture waits"`
	ApplyKeysPerS   float64  `json:"apply_keys_per_s" doc:"rate of apply, smoothed"`
	CaptureDelayMS  MS       `json:"capture_delay_ms" doc:"how far capture is behind the server"`
	BinlogReadBytes int64    `json:"binlog_read_bytes" doc:"binlog received"`
	BinlogPosition  string   `json:"binlog_position" doc:"position up to which the binlog was received, as file:offset; empty before capture begins"`
	ETAMS           *MS      `json:"eta_ms" doc:"time until the run ends, or until the cut-over may begin if the run holds; null: not known"`
	ETALeastMS      *MS      `json:"eta_least_ms" doc:"lower end of the range that has this time in about 85 of 100 cases; null: not known"`
	ETAMostMS       *MS      `json:"eta_most_ms" doc:"upper end of that range; null: not known"`
	Retries         int64    `json:"retries" doc:"number of syncs that were tried again"`
	IndexFraction   float64  `json:"index_fraction" doc:"completed part of a step of the server's build, if the server reports it; otherwise 0"`
	BuildStep       string   `json:"build_step" doc:"step of the server's build, in the server's words; empty if there is none"`
	Verified        int64    `json:"rows_verified" doc:"rows compared with the new table's"`
	Scanned         int64    `json:"rows_scanned" doc:"rows that the prescan has checked"`
	Deadline        Goal     `json:"deadline" doc:"the deadline of the run (--finish-by, --finish-within), as the last report about it"`
	Unfit           *int64   `json:"unfit_rows" doc:"of an undo: rows that do not fit the definition that comes back, as far as it has synced; null: no undo"`
	UnfitKeys       []string `json:"unfit_keys" doc:"keys of some of these rows, as literals"`
	ComparedAt      string   `json:"compared_at" doc:"when the last comparison ended, RFC 3339 (a lazy undo may compare changed rows only); empty: not in this run"`
}

// Goal tells whether a run will end by its deadline.
type Goal struct {
	By       string  `json:"by" doc:"the deadline, RFC 3339; empty: there is none"`
	State    string  `json:"state" doc:"unknown, met, behind (the run would be late, and raises its limit) or impossible (even at the highest limit, or the time is over); empty: no deadline"`
	Expected string  `json:"expected" doc:"when the run will end, RFC 3339; empty: not known"`
	Limit    string  `json:"limit" doc:"how much longer the application's statements may take now, as --max-slowdown writes it"`
	Factor   float64 `json:"factor" doc:"that limit as a multiple of --max-slowdown"`
	Highest  bool    `json:"highest" doc:"true: the limit cannot rise any more (--max-slowdown-at-most)"`
}

// Deadline reports each minute whether a run will end by its deadline.
type Deadline struct {
	Head
	Deadline Goal `json:"deadline" doc:"the deadline, and whether it will be met"`
}

// Blocked tells that sessions are in the way.
type Blocked struct {
	Head
	Run       string    `json:"run" doc:"table by which commands such as midstream set find the run; may be empty"`
	WaitingMS MS        `json:"waiting_ms" doc:"time for which sessions have blocked the lock without a break"`
	Blockers  []Blocker `json:"blockers" doc:"the sessions that block the lock"`
}

// Blocker tells a session at a metadata lock.
type Blocker struct {
	ConnectionID uint64 `json:"connection_id" doc:"id of the connection, for KILL"`
	User         string `json:"user" doc:"account of the session"`
	Host         string `json:"host" doc:"host of the session"`
	Command      string `json:"command" doc:"command of the session, as in the process list"`
	AgeMS        MS     `json:"age_ms" doc:"age of its transaction or statement"`
	Statement    string `json:"statement" doc:"the running statement, or the last one; may be empty"`
	Table        string `json:"table" doc:"the table whose lock the session holds; may be empty"`
	Why          string `json:"why" doc:"what the session blocks"`
	Snapshot     bool   `json:"snapshot" doc:"true: the session has an old snapshot (--old-snapshots), and no lock"`
	Program      string `json:"program" doc:"program name that the client has sent to the server; may be empty"`
	Lock         string `json:"lock" doc:"kind of the metadata lock, as the server spells it; empty for a snapshot"`
	Role         string `json:"role" doc:"replication, backup or midstream, which are never killed; otherwise empty"`
	Changed      *int64 `json:"rows_changed" doc:"rows that its transaction has changed so far; null: not known"`
}

// BlockerOf returns the record of a session.
func BlockerOf(b event.Blocker) Blocker {
	r := Blocker{b.ConnectionID, b.User, b.Host, b.Command, MSOf(b.Age), b.Statement, b.Table, b.Why, b.Snapshot,
		b.Program, b.Lock, string(b.Role), nil}
	if b.Changed >= 0 {
		r.Changed = &b.Changed
	}
	return r
}

// Blockers returns the records of a list.
func Blockers(blockers []event.Blocker) []Blocker {
	records := make([]Blocker, 0, len(blockers))
	for _, b := range blockers {
		records = append(records, BlockerOf(b))
	}
	return records
}

// Blocker is it as an event has it.
func (r Blocker) Blocker() event.Blocker {
	b := event.Blocker{ConnectionID: r.ConnectionID, User: r.User, Host: r.Host, Command: r.Command, Age: r.AgeMS.Duration(),
		Statement: r.Statement, Table: r.Table, Why: r.Why, Snapshot: r.Snapshot, Program: r.Program, Lock: r.Lock,
		Role: event.Role(r.Role), Changed: -1}
	if r.Changed != nil {
		b.Changed = *r.Changed
	}
	return b
}

// Killed tells that a session was ended.
type Killed struct {
	Head
	Blocker  Blocker `json:"blocker" doc:"the session that was killed (--kill-blockers-after)"`
	WaitedMS MS      `json:"waited_ms" doc:"time for which it was seen to block the lock"`
}

// Controlled tells that somebody has given a command.
type Controlled struct {
	Head
	Command string `json:"command" doc:"the command as given: pause --stop-capture, set lock-wait=1s"`
	By      string `json:"by" doc:"who gave the command: user, uid and process"`
	Text    string `json:"text" doc:"the new state, or the reason why nothing was done"`
	Refused bool   `json:"refused" doc:"true: the run refused the command"`
}

// Throttled tells for what the work waits.
type Throttled struct {
	Head
	Gates []Gate `json:"gates" doc:"the gates for which the work waits; empty: it continues"`
}

// Gate tells a reason for which the work waits.
type Gate struct {
	Name  string `json:"name" doc:"stable name of the gate: replica-lag host:port, capture-delay, max-load, ..."`
	Why   string `json:"why" doc:"the reason why the gate is closed, with numbers"`
	ForMS MS     `json:"for_ms" doc:"time since the gate was closed"`
}

// Lockers is the answer of midstream blockers.
type Lockers struct {
	Head
	Table   string    `json:"table" doc:"database.table"`
	Holding []Blocker `json:"holding" doc:"sessions that hold a metadata lock on it, the oldest first"`
	Waiting []Blocker `json:"waiting" doc:"sessions that wait for one, the oldest first"`
}

// LockAttempt tells one request for the lock of the cut-over.
type LockAttempt struct {
	Head
	Number   int  `json:"number" doc:"number of the attempt, from 1"`
	Granted  bool `json:"granted" doc:"whether the lock was granted within its bound"`
	WaitedMS MS   `json:"waited_ms" doc:"time until the lock was granted or the request was withdrawn"`
}

// Prepared tells that the run has its lock for a round of a swap on several servers, with all changes applied.
type Prepared struct {
	Head
	Round  int `json:"round" doc:"number of the round"`
	HoldMS MS  `json:"hold_ms" doc:"time from the request for the round until the run gives the lock back, unless a commit comes"`
}

// Swapped tells that the swap happened.
type Swapped struct {
	Head
	LockHeldMS  MS  `json:"lock_held_ms" doc:"time from the grant of the lock to its release"`
	DrainedKeys int `json:"drained_keys" doc:"keys applied under the lock"`
	Attempts    int `json:"attempts" doc:"number of attempts"`
	// Of the RENAME.
	Position string `json:"position" doc:"the place in the server's binlog behind the RENAME, as file:offset: readers of the binlog see the new definition from there on; empty if it is not known"`
	GTID     string `json:"gtid" doc:"the transaction of the RENAME; empty without GTIDs"`
}

// Retry tells that a sync is tried again.
type Retry struct {
	Head
	What  string `json:"what" doc:"what was synced: chunk or keys"`
	Cause string `json:"cause" doc:"the server's error"`
}

// Mismatch tells a value of the new table that is not what it should be.
type Mismatch struct {
	Head
	Key      string `json:"key" doc:"key of the row, as a literal"`
	Column   string `json:"column" doc:"column of the new table; empty if one of the tables has no such row"`
	Expected string `json:"expected" doc:"what the ALTER makes of the old table's value, shortened; or: present, missing"`
	Found    string `json:"found" doc:"the value in the new table"`
}

// Verified tells that the tables were compared.
type Verified struct {
	Head
	Rows       int64    `json:"rows" doc:"number of compared rows"`
	LeftOut    int64    `json:"rows_left_out" doc:"rows of the old table that --keep left out"`
	Suspects   int      `json:"suspects" doc:"rows that differed at first, because a change was not yet applied"`
	Repaired   int      `json:"repaired" doc:"rows that differed and were copied again"`
	Unproven   int      `json:"unproven" doc:"rows that changed all the time; the run compares them under the lock"`
	ElapsedMS  MS       `json:"elapsed_ms" doc:"duration of the comparison"`
	Uncompared []string `json:"uncompared" doc:"columns that cannot be compared, and rows that were not, each with its reason; empty if everything was compared"`
}

// Finding tells rows that the new table does not take.
type Finding struct {
	Head
	Kind    string   `json:"kind" doc:"null, too_long, out_of_range, member, characters, invalid, zero, merged, check, partition, duplicate, crowd (of one value), unfit (refused by an undo), foreign_key (no parent), or loss (changed silently)"`
	Name    string   `json:"name" doc:"the column, constraint or key of the new table that the rows do not fit"`
	What    string   `json:"what" doc:"the fault of these rows"`
	Rows    int64    `json:"rows" doc:"number of these rows"`
	AtLeast bool     `json:"at_least" doc:"true: there are more rows than this number"`
	Keys    []string `json:"keys" doc:"keys of the first ten rows, as literals; rows with the same value are next to each other"`
	Query   string   `json:"query" doc:"the SELECT that lists all of them; if at_least is true, the counted ones"`
	Fix     string   `json:"fix" doc:"a clause of the ALTER that the rows fit; may be empty"`
	Refused bool     `json:"refused" doc:"true: a run stops at such a row; false: the value changes"`
}

// UnfitFound tells of the first row that an undo cannot bring back.
type UnfitFound struct {
	Head
	Key   string `json:"key" doc:"key of the row, as a literal"`
	Cause string `json:"cause" doc:"why the row does not fit the definition that comes back"`
}

// Parked tells which rows an undo has copied aside.
type Parked struct {
	Head
	Table string   `json:"table" doc:"the table with the copies"`
	Rows  int      `json:"rows" doc:"number of these rows"`
	Keys  []string `json:"keys" doc:"keys of the first 20 rows, as literals"`
	// Values is the table with the values of dropped columns.
	Values string `json:"values" doc:"the table with the values that dropped columns had in these rows; empty: none"`
}

// Prescanned tells that the table was looked at.
type Prescanned struct {
	Head
	Needed    bool  `json:"needed" doc:"false: the definitions alone prove that every row fits the new table"`
	Rows      int64 `json:"rows" doc:"rows whose values were checked; 0 if only duplicates are possible"`
	Refused   int   `json:"refused" doc:"findings at which a run stops"`
	ElapsedMS MS    `json:"elapsed_ms" doc:"duration of the prescan"`
}

// Result is the last line, whatever happened.
type Result struct {
	Head
	Method          string    `json:"method" doc:"method of the change; empty if it was not decided"`
	Outcome         string    `json:"outcome" doc:"name of the exit code: done, failed, usage, refused, aborted, mismatch, swap_unknown, leftovers, stopped, unfit, no_run, not_now, busy, differs, left_at_once"`
	ExitCode        int       `json:"exit_code" doc:"the exit code of the process"`
	Error           string    `json:"error" doc:"the cause; empty if done"`
	Phase           string    `json:"phase" doc:"the phase in which it failed; empty if none had begun"`
	Swapped         bool      `json:"swapped" doc:"true: the table is known to be altered"`
	Stage           string    `json:"stage" doc:"where it failed: the phase, or before the first phase: command line, connecting, planning; empty if done"`
	Object          string    `json:"object" doc:"the object of the error: database.table on host:port, a server, a command; empty if done"`
	Left            string    `json:"left" doc:"what is left on the server; empty if done"`
	Next            string    `json:"next" doc:"what to do; empty if done"`
	Passing         bool      `json:"passing" doc:"true: the cause is temporary (the server is full, the connection broke, this machine has no file or disk left), and the same command may be run again unchanged"`
	Problems        []Risk    `json:"problems" doc:"every reason of a refusal"`
	Unfit           []Finding `json:"unfit" doc:"if the outcome is unfit: the rows that the definition refuses, a finding for each reason; otherwise empty"`
	Into            string    `json:"into" doc:"the name that the swap gives the table (--into); empty: it keeps its own"`
	Old             string    `json:"old" doc:"the old table, if it was kept; with --together all of them"`
	ParkedRows      int       `json:"parked_rows" doc:"number of rows that this undo has set aside (--park)"`
	ParkedTable     string    `json:"parked_table" doc:"the table that has these rows; empty: none"`
	ElapsedMS       MS        `json:"elapsed_ms" doc:"duration of the run"`
	PrescanMS       MS        `json:"prescan_ms" doc:"duration of the search for rows that do not fit the new table"`
	CopyMS          MS        `json:"copy_ms" doc:"duration of the row copy"`
	IndexMS         MS        `json:"index_ms" doc:"duration of the build of deferred indexes"`
	VerifyMS        MS        `json:"verify_ms" doc:"duration of the comparison"`
	RowsCopied      int64     `json:"rows_copied" doc:"rows written by the row copy; purge and update: rows changed"`
	RowsMatched     int64     `json:"rows_matched" doc:"purge and update: rows that met the condition when their range was read, in all attempts"`
	RowsChanged     int64     `json:"rows_changed" doc:"purge and update: rows that were deleted or changed, in all attempts"`
	RowsArchived    int64     `json:"rows_archived" doc:"purge --rest: rows that were copied before they were deleted, in all attempts"`
	RowsMatchNow    *int64    `json:"rows_match_now" doc:"purge and update: rows that meet the condition at the end; null: not counted"`
	Scanned         int64     `json:"rows_scanned" doc:"rows that the prescan has checked"`
	Verified        int64     `json:"rows_verified" doc:"rows compared with the new table's"`
	Repaired        int       `json:"rows_repaired" doc:"rows that differed and were copied again"`
	LeftOut         int64     `json:"rows_left_out" doc:"rows of the old table that --keep left out, as of the comparison; 0 if the tables were not compared"`
	ComparedAt      string    `json:"compared_at" doc:"as in progress"`
	Captured        int64     `json:"captured_changes" doc:"as in progress"`
	Applied         int64     `json:"applied_keys" doc:"as in progress"`
	Changed         *int64    `json:"changed_rows" doc:"as in progress"`
	Dropped         int64     `json:"dropped_changes" doc:"as in progress"`
	Merged          int64     `json:"merged_changes" doc:"as in progress"`
	Retries         int64     `json:"retries" doc:"as in progress"`
	Attempts        int       `json:"attempts" doc:"attempts to get the lock of the cut-over"`
	LockHeldMS      MS        `json:"lock_held_ms" doc:"time from the grant of the lock to its release"`
	DrainedKeys     int       `json:"drained_keys" doc:"keys applied under the lock"`
	BinlogReadBytes int64     `json:"binlog_read_bytes" doc:"binlog received"`
	DiskBytes       int64     `json:"disk_bytes" doc:"additional size of the table's files at the peak; 0: not known"`
	RedoBytes       int64     `json:"redo_bytes" doc:"redo log that the server wrote during the run; 0: not known"`
	BinlogBytes     int64     `json:"binlog_bytes" doc:"binlog that the run wrote, without the application's; 0: not known"`
	Rehearsal       string    `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty"`
	Undoes          bool      `json:"undoes" doc:"true: the run was an undo"`
	Undo            *Open     `json:"undo" doc:"how the change can be undone now; null: it cannot"`
	LockWaitedMS    MS        `json:"lock_waited_ms" doc:"time of the last attempt until the lock was granted"`
	Blockers        int       `json:"blockers_seen" doc:"number of sessions that were seen to block the lock"`
	BlockedMS       MS        `json:"blocked_ms" doc:"approximate time for which sessions blocked the lock"`
	MostDelayMS     MS        `json:"capture_delay_max_ms" doc:"the longest delay of capture behind the server"`
	ShadowBytes     int64     `json:"shadow_bytes" doc:"rehearsal: size of the new table with its indexes, as the server estimates it"`
	Shadow          string    `json:"shadow" doc:"rehearsal: the new table, if it was kept"`
	ReplicaBeforeMS MS        `json:"replica_lag_before_ms" doc:"rehearsal on a replica: lag of the replica at first"`
	ReplicaLagMS    MS        `json:"replica_lag_max_ms" doc:"rehearsal on a replica: the largest lag, by the two servers' clocks"`
	ReplicaStallMS  MS        `json:"replica_stall_ms" doc:"rehearsal on a replica: the longest time for which a transaction was seen to be applied, or to wait"`
	PeakRSSBytes    int64     `json:"peak_rss_bytes" doc:"peak memory of this process; 0: not known"`
	CPUMS           MS        `json:"cpu_ms" doc:"processor time of this process; 0: not known"`

	Deadline       string `json:"deadline" doc:"the deadline of the run, RFC 3339; empty: there was none"`
	DeadlineLateMS *MS    `json:"deadline_late_ms" doc:"how long after the deadline the run ended; negative: before it; null: there was none"`

	Tables []Table `json:"tables" doc:"with --to and --together: every table, in the order of the work. The numbers above are then their sums. disk_bytes is the largest of them; with --together it is a sum too, and the times and attempts of the swap are those of the one swap. Otherwise empty"`

	Needed *Needed `json:"needed" doc:"with --together, if the foreign keys of the given statements need other columns to change as well: the complete group. Otherwise null"`
}

// Table is what has become of one table of --to or --together.
type Table struct {
	Table   string `json:"table" doc:"database.table"`
	Place   string `json:"place" doc:"file:line of the desired definition"`
	State   string `json:"state" doc:"equal: it had this definition already; planned, checked, rehearsed, changed or created: the verb has done its work; failed; waiting: its turn had not come. later: an earlier statement comes first"`
	Method  string `json:"method" doc:"method of the change; may be empty"`
	Old     string `json:"old" doc:"the old table, if it was kept"`
	Elapsed MS     `json:"elapsed_ms" doc:"duration of the table's change"`

	RowsCopied  int64  `json:"rows_copied" doc:"rows written by the row copy"`
	Verified    int64  `json:"rows_verified" doc:"rows compared with the new table's"`
	LeftOut     int64  `json:"rows_left_out" doc:"rows of the old table that --keep left out, as of the comparison"`
	CopyMS      MS     `json:"copy_ms" doc:"duration of the row copy"`
	IndexMS     MS     `json:"index_ms" doc:"duration of the build of deferred indexes"`
	VerifyMS    MS     `json:"verify_ms" doc:"duration of the comparison"`
	DrainedKeys int    `json:"drained_keys" doc:"keys applied under the lock"`
	Shadow      string `json:"shadow" doc:"rehearsal: the new table, if it was kept"`
}

// Cause is why the run has failed, in one line, with every reason of a refusal.
func (r *Result) Cause() string {
	why := strings.NewReplacer("\n- ", "; ", "\n", " ").Replace(r.Error)
	for _, p := range r.Problems {
		if !strings.Contains(why, p.What) {
			why = strings.TrimPrefix(why+"; "+p.What, "; ")
		}
	}
	return why
}

// Time is the time of the event; zero if it is not known.
func (h Head) Time() time.Time {
	at, _ := time.Parse(RFC3339, h.At)
	return at
}

// Name is the name of the event.
func (h Head) Name() string { return h.Event }

// EventsOf is the inverse of Blockers.
func EventsOf(records []Blocker) []event.Blocker {
	var all []event.Blocker
	for _, r := range records {
		all = append(all, r.Blocker())
	}
	return all
}
