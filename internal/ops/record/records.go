package record

import (
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
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
	ID        string `json:"id" doc:"of the run: its file's name, without .jsonl"`
	Table     string `json:"table" doc:"that is changed: database.table, a part with a dot or a backtick in backticks"`
	Alter     string `json:"alter" doc:"the clauses of the ALTER TABLE, or the statement"`
	Server    string `json:"server" doc:"host:port, or the path of a socket"`
	Rehearsal string `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty: the table is changed"`
	User      string `json:"user" doc:"who has given the command"`
	Host      string `json:"host" doc:"the machine on which the run is at work"`
	Process   int    `json:"process" doc:"id of its process"`
	Version   string `json:"version" doc:"of midstream"`
}

// Plan tells what a run will do.
type Plan struct {
	Head
	Rehearsal     string     `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty: the table is changed"`
	Table         string     `json:"table" doc:"the table that is changed, database.table"`
	Alter         string     `json:"alter" doc:"what follows ALTER TABLE name; empty if there is nothing to alter"`
	Create        string     `json:"create" doc:"the CREATE TABLE of a table that is not there (--to); else empty"`
	Place         string     `json:"place" doc:"file:line of the definition that is wanted (--to); else empty"`
	Method        string     `json:"method" doc:"none, instant, inplace, copy or shadow; create where the table is not there (--to)"`
	Why           string     `json:"why" doc:"why this method"`
	Others        []Rejected `json:"others" doc:"the methods that were not taken, the lightest first"`
	Warning       string     `json:"warning" doc:"why the method would not have been taken, had it not been asked for; may be empty"`
	ServerAddress string     `json:"server_address" doc:"host:port, or the path of a socket"`
	ServerVersion string     `json:"server_version" doc:"flavor and version"`
	Replicas      int        `json:"replicas" doc:"replicas attached to the server"`
	CaptureFrom   string     `json:"capture_from" doc:"host:port of the replica from which changes are read; empty if they are read from the server itself"`
	Capture       string     `json:"capture" doc:"how changes are captured by a run that copies rows: binlog or trigger"`
	CaptureWhy    string     `json:"capture_why" doc:"why by triggers; empty if the binlog is read"`
	Key           string     `json:"key" doc:"the key by which rows are copied and changes followed"`
	KeyColumns    []string   `json:"key_columns" doc:"its columns"`
	RowsEstimate  int64      `json:"rows_estimate" doc:"rows, as the server estimates them"`
	DataBytes     int64      `json:"data_bytes" doc:"size of the rows, as the server estimates it"`
	IndexBytes    int64      `json:"index_bytes" doc:"size of the secondary indexes, likewise"`
	Shadow        string     `json:"shadow" doc:"name of the table that is built"`
	Old           string     `json:"old" doc:"name that the table gets when it is swapped out"`
	State         string     `json:"state" doc:"name of the table that holds the run's state"`
	Prediction    Prediction `json:"prediction" doc:"what it will probably cost"`
	Columns       []Column   `json:"columns" doc:"what becomes of the columns that don't stay as they are, as the statement tells"`
	Grants        []string   `json:"grants" doc:"the privileges that it needs, as GRANT spells them"`
	Former        string     `json:"former" doc:"what becomes of what an earlier run left; empty if that left nothing"`
	Risks         []Risk     `json:"risks" doc:"what the operator should know; may be empty"`
	Statement     string     `json:"statement" doc:"RENAME TABLE, DROP TABLE, TRUNCATE TABLE or CREATE TABLE; empty of an ALTER"`
	Steps         []string   `json:"steps" doc:"what is done by such a statement, in order, for people; empty of an ALTER"`
	Locks         []string   `json:"locks" doc:"the tables that it locks for a moment; empty of an ALTER"`
}

// Column tells what becomes of a column.
type Column struct {
	Source string `json:"source" doc:"its name before; empty if it is new"`
	Target string `json:"target" doc:"its name afterwards; empty if it is dropped"`
	What   string `json:"what" doc:"renamed, added, dropped, or defined anew"`
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
	Why    string `json:"why" doc:"why it was not taken"`
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
	Phase string `json:"phase" doc:"check, native, shadow, prescan, start, copy, index, catchup, verify, hold, cutover, lock (of a rehearsal), cleanup or done; catchup comes before verify and before each cutover or lock"`
}

// Note tells something to read once.
type Note struct {
	Head
	Text string `json:"text" doc:"something to read once"`
}

// Resumed tells that the work of an earlier run is gone on with.
type Resumed struct {
	Head
	Rows  int64  `json:"rows" doc:"that the earlier run had copied"`
	Taken string `json:"taken" doc:"when its last checkpoint was taken, as at"`
	Text  string `json:"text" doc:"all of it, for people"`
}

// Progress tells how far a run is.
type Progress struct {
	Head
	Phase           string   `json:"phase" doc:"the phase that the run is in"`
	ElapsedMS       MS       `json:"elapsed_ms" doc:"since the run began"`
	RowsCopied      int64    `json:"rows_copied" doc:"rows written by the row copy"`
	RowsTotal       int64    `json:"rows_total" doc:"rows expected, an estimate"`
	Fraction        float64  `json:"fraction" doc:"of the row copy, 0 to 1"`
	CopyRowsPerS    float64  `json:"copy_rows_per_s" doc:"rate of the row copy, smoothed"`
	ChunkRows       int      `json:"chunk_rows" doc:"rows of a chunk now"`
	Workers         float64  `json:"workers" doc:"row copy workers that may work: fewer where the server is busy; with 1.5 the second works half of its time"`
	Statements      float64  `json:"application_statements_per_s" doc:"statements of the application that end a second; 0: not known, or nobody is there"`
	FeltMS          MS       `json:"application_statement_ms" doc:"time of such a statement on the server, on average; 0: not known"`
	FeltAloneMS     MS       `json:"application_statement_alone_ms" doc:"likewise, in the moments in which nothing of this run is at work; 0: not known"`
	ReplicaLagMS    *MS      `json:"replica_lag_ms" doc:"how far the replica is behind that is farthest; null: none is watched"`
	Slower          *float64 `json:"application_slower" doc:"part by which the application's statements take longer on average through this run's work; null: not known, or nobody is there"`
	Captured        int64    `json:"captured_changes" doc:"changes read from the binlog"`
	Applied         int64    `json:"applied_keys" doc:"keys synced from the backlog"`
	Dropped         int64    `json:"dropped_changes" doc:"changes ahead of the row copy, which reads their rows anyway"`
	Merged          int64    `json:"merged_changes" doc:"changes of a key that was in the backlog already"`
	Backlog         int      `json:"backlog_keys" doc:"keys not yet applied"`
	BacklogLimit    int      `json:"backlog_limit_keys" doc:"the number at which capture waits"`
	ApplyKeysPerS   float64  `json:"apply_keys_per_s" doc:"rate of apply, smoothed"`
	CaptureDelayMS  MS       `json:"capture_delay_ms" doc:"how far capture is behind the server"`
	BinlogReadBytes int64    `json:"binlog_read_bytes" doc:"binlog received"`
	BinlogPosition  string   `json:"binlog_position" doc:"place in the binlog up to which it was received, as file:offset; empty before capture begins"`
	ETAMS           *MS      `json:"eta_ms" doc:"until the cut-over may begin; null: not known"`
	Retries         int64    `json:"retries" doc:"syncs that were tried again"`
	IndexFraction   float64  `json:"index_fraction" doc:"of a step of the server's build, where it tells; else 0"`
	BuildStep       string   `json:"build_step" doc:"of that build, in the server's words; empty where none is at work"`
	Verified        int64    `json:"rows_verified" doc:"rows compared with the new table's"`
	Scanned         int64    `json:"rows_scanned" doc:"rows that the prescan has looked at"`
}

// Blocked tells that sessions are in the way.
type Blocked struct {
	Head
	WaitingMS MS        `json:"waiting_ms" doc:"since there has been somebody in the way without a break"`
	Blockers  []Blocker `json:"blockers" doc:"the sessions in the way"`
}

// Blocker tells a session at a metadata lock.
type Blocker struct {
	ConnectionID uint64 `json:"connection_id" doc:"for KILL"`
	User         string `json:"user" doc:"its account"`
	Host         string `json:"host" doc:"where it comes from"`
	Command      string `json:"command" doc:"as in the process list"`
	AgeMS        MS     `json:"age_ms" doc:"since its transaction or statement began"`
	Statement    string `json:"statement" doc:"running, or the last one; may be empty"`
	Table        string `json:"table" doc:"the table whose lock it holds; may be empty"`
	Why          string `json:"why" doc:"what it stands in the way of"`
	Snapshot     bool   `json:"snapshot" doc:"it is an old snapshot, which --old-snapshots is about, and no lock"`
	Program      string `json:"program" doc:"as it has told the server; may be empty"`
	Lock         string `json:"lock" doc:"kind of the metadata lock, as the server spells it; empty for a snapshot"`
	Role         string `json:"role" doc:"replication, backup or midstream, which are never killed; else empty"`
	Changed      *int64 `json:"rows_changed" doc:"by its transaction so far; null: not known"`
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
	Blocker  Blocker `json:"blocker" doc:"the session that was ended (--kill-blockers-after)"`
	WaitedMS MS      `json:"waited_ms" doc:"for how long it was seen in the way"`
}

// Controlled tells that somebody has given a command.
type Controlled struct {
	Head
	Command string `json:"command" doc:"as it was given: pause --stop-capture, set lock-wait=1s"`
	By      string `json:"by" doc:"who gave it: user, uid and process"`
	Text    string `json:"text" doc:"what now holds, or why nothing was done"`
	Refused bool   `json:"refused" doc:"nothing was done"`
}

// Throttled tells for what the work waits.
type Throttled struct {
	Head
	Gates []Gate `json:"gates" doc:"for what the work waits; empty: it goes on"`
}

// Gate tells a reason for which the work waits.
type Gate struct {
	Name  string `json:"name" doc:"stable name of the gate: replica-lag host:port, capture-delay, max-load, ..."`
	Why   string `json:"why" doc:"why it is closed, with numbers"`
	ForMS MS     `json:"for_ms" doc:"since when"`
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
	Number   int  `json:"number" doc:"from 1"`
	Granted  bool `json:"granted" doc:"whether the lock was granted within its bound"`
	WaitedMS MS   `json:"waited_ms" doc:"until it was granted or withdrawn"`
}

// Swapped tells that the swap happened.
type Swapped struct {
	Head
	LockHeldMS  MS  `json:"lock_held_ms" doc:"from the grant of the lock to its release"`
	DrainedKeys int `json:"drained_keys" doc:"keys applied under the lock"`
	Attempts    int `json:"attempts" doc:"attempts that it took"`
}

// Retry tells that a sync is tried again.
type Retry struct {
	Head
	What  string `json:"what" doc:"chunk or keys"`
	Cause string `json:"cause" doc:"the server's error"`
}

// Mismatch tells a value of the new table that is not what it should be.
type Mismatch struct {
	Head
	Key      string `json:"key" doc:"of the row, as a literal"`
	Column   string `json:"column" doc:"of the new table; empty where one of the tables has no such row"`
	Expected string `json:"expected" doc:"what the ALTER makes of the old table's value, shortened; or: present, missing"`
	Found    string `json:"found" doc:"in the new table"`
}

// Verified tells that the tables were compared.
type Verified struct {
	Head
	Rows       int64    `json:"rows" doc:"compared"`
	Suspects   int      `json:"suspects" doc:"rows that differed at first, as a change was not yet applied"`
	Repaired   int      `json:"repaired" doc:"rows that differed and were synced anew"`
	Unproven   int      `json:"unproven" doc:"rows that changed all the time and are compared under the lock"`
	ElapsedMS  MS       `json:"elapsed_ms" doc:"of the comparison"`
	Uncompared []string `json:"uncompared" doc:"columns that cannot be compared, each with its reason; empty if every column was compared"`
}

// Finding tells rows that the new table does not take.
type Finding struct {
	Head
	Kind    string   `json:"kind" doc:"null, too_long, out_of_range, member, characters, invalid, check, duplicate, or loss: changed without an error"`
	Name    string   `json:"name" doc:"the column, constraint or key of the new table that doesn't take the rows as they are"`
	What    string   `json:"what" doc:"what is wrong with them"`
	Rows    int64    `json:"rows" doc:"how many there are"`
	AtLeast bool     `json:"at_least" doc:"whether there are more than rows"`
	Keys    []string `json:"keys" doc:"of the first ten, as literals; rows that share a value stand together"`
	Query   string   `json:"query" doc:"the SELECT that lists them all; where at_least is true, those that were counted"`
	Fix     string   `json:"fix" doc:"a clause that takes them, in place of the one that doesn't; may be empty"`
	Refused bool     `json:"refused" doc:"a run stops at such a row; false: it changes the value"`
}

// Prescanned tells that the table was looked at.
type Prescanned struct {
	Head
	Needed    bool  `json:"needed" doc:"false: the definitions prove by themselves that the new table takes every row"`
	Rows      int64 `json:"rows" doc:"whose values were looked at; 0 where only duplicates may be"`
	Refused   int   `json:"refused" doc:"findings at which a run stops"`
	ElapsedMS MS    `json:"elapsed_ms" doc:"of the prescan"`
}

// Result is the last line, whatever happened.
type Result struct {
	Head
	Method          string `json:"method" doc:"by which the table was changed, or was to be; empty if it was not decided"`
	Outcome         string `json:"outcome" doc:"name of the exit code: done, failed, usage, refused, aborted, mismatch, swap_unknown, leftovers, stopped, unfit, no_run, not_now, left_at_once"`
	ExitCode        int    `json:"exit_code" doc:"the exit code that follows"`
	Error           string `json:"error" doc:"the cause; empty if done"`
	Phase           string `json:"phase" doc:"the phase in which it failed; empty if none had begun"`
	Swapped         bool   `json:"swapped" doc:"whether the table is known to have its new schema"`
	Stage           string `json:"stage" doc:"where it failed: the phase, or before there is one command line, connecting, planning; empty if done"`
	Object          string `json:"object" doc:"what it was about: database.table on host:port, a server, a command; empty if done"`
	Left            string `json:"left" doc:"what is left on the server; empty if done"`
	Next            string `json:"next" doc:"what to do; empty if done"`
	Passing         bool   `json:"passing" doc:"the cause passes by itself (the server is full, the connection broke, this machine has no file or disk left): the same command may be given again as it stands"`
	Problems        []Risk `json:"problems" doc:"every reason of a refusal"`
	Old             string `json:"old" doc:"the former table, if it was kept"`
	ElapsedMS       MS     `json:"elapsed_ms" doc:"of the run"`
	PrescanMS       MS     `json:"prescan_ms" doc:"of the look for rows that the new table doesn't take"`
	CopyMS          MS     `json:"copy_ms" doc:"of the row copy"`
	IndexMS         MS     `json:"index_ms" doc:"of the build of deferred indexes"`
	VerifyMS        MS     `json:"verify_ms" doc:"of the comparison"`
	RowsCopied      int64  `json:"rows_copied" doc:"rows written by the row copy"`
	Scanned         int64  `json:"rows_scanned" doc:"rows that the prescan has looked at"`
	Verified        int64  `json:"rows_verified" doc:"rows compared with the new table's"`
	Repaired        int    `json:"rows_repaired" doc:"rows that differed and were synced anew"`
	Captured        int64  `json:"captured_changes" doc:"as in progress"`
	Applied         int64  `json:"applied_keys" doc:"as in progress"`
	Dropped         int64  `json:"dropped_changes" doc:"as in progress"`
	Merged          int64  `json:"merged_changes" doc:"as in progress"`
	Retries         int64  `json:"retries" doc:"as in progress"`
	Attempts        int    `json:"attempts" doc:"attempts to get the lock of the cut-over"`
	LockHeldMS      MS     `json:"lock_held_ms" doc:"from its grant to its release"`
	DrainedKeys     int    `json:"drained_keys" doc:"keys applied under it"`
	BinlogReadBytes int64  `json:"binlog_read_bytes" doc:"binlog received"`
	DiskBytes       int64  `json:"disk_bytes" doc:"by which the table's files were larger at the peak; 0: not known"`
	RedoBytes       int64  `json:"redo_bytes" doc:"of redo log that the server wrote meanwhile; 0: not known"`
	BinlogBytes     int64  `json:"binlog_bytes" doc:"of binlog, without what the application wrote; 0: not known"`
	Rehearsal       string `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty"`
	LockWaitedMS    MS     `json:"lock_waited_ms" doc:"of the last attempt, until the lock was granted"`
	Blockers        int    `json:"blockers_seen" doc:"sessions that were seen in the way of the lock"`
	BlockedMS       MS     `json:"blocked_ms" doc:"for how long, about"`
	MostDelayMS     MS     `json:"capture_delay_max_ms" doc:"the most that capture was behind the server"`
	ShadowBytes     int64  `json:"shadow_bytes" doc:"of a rehearsal: size of the new table with its indexes, as the server estimates it"`
	Shadow          string `json:"shadow" doc:"of a rehearsal: the new table, if it was kept"`
	ReplicaBeforeMS MS     `json:"replica_lag_before_ms" doc:"of a rehearsal on a replica: how far that was behind at first"`
	ReplicaLagMS    MS     `json:"replica_lag_max_ms" doc:"likewise: the most that it was behind, by the two servers' clocks"`
	ReplicaStallMS  MS     `json:"replica_stall_ms" doc:"likewise: the longest that a transaction was seen to be applied for, or to wait"`
	PeakRSSBytes    int64  `json:"peak_rss_bytes" doc:"most memory that this process held; 0: not known"`
	CPUMS           MS     `json:"cpu_ms" doc:"processor time of this process; 0: not known"`

	Tables []Table `json:"tables" doc:"of --to: every table of the files that was looked at, in the order of the work; the numbers above are then their sums, disk_bytes the largest of them. Else empty"`
}

// Table is what has become of one table of --to.
type Table struct {
	Table   string `json:"table" doc:"database.table"`
	Place   string `json:"place" doc:"file:line of the definition that is wanted"`
	State   string `json:"state" doc:"equal: it had this definition already; planned, checked, changed or created: the verb has done its work; failed; waiting: its turn had not come"`
	Method  string `json:"method" doc:"by which it was changed, or was to be; may be empty"`
	Old     string `json:"old" doc:"the former table, if it was kept"`
	Elapsed MS     `json:"elapsed_ms" doc:"of its change"`
}

// Name is the name of the event.
func (h Head) Name() string { return h.Event }
