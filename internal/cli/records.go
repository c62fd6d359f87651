package cli

import (
	"time"

	"midstream/internal/plan"
)

// The records of --json. Each is one line. Names of events and fields are stable: fields
// may be added, none is renamed or dropped. docs/events.md is made of the doc tags.

// ms is a duration in milliseconds, to the microsecond.
type ms float64

func msOf(d time.Duration) ms        { return ms(float64(d.Microseconds()) / 1000) }
func (m ms) duration() time.Duration { return time.Duration(float64(m)*1000) * time.Microsecond }

// head is what every record begins with.
type head struct {
	Event string `json:"event" doc:"name of the event"`
	At    string `json:"at" doc:"when, RFC 3339 with milliseconds, UTC"`
}

type planRecord struct {
	head
	Table         string       `json:"table" doc:"the table that is changed, database.table"`
	Alter         string       `json:"alter" doc:"what follows ALTER TABLE name"`
	Method        string       `json:"method" doc:"shadow_copy"`
	ServerAddress string       `json:"server_address" doc:"host:port, or the path of a socket"`
	ServerVersion string       `json:"server_version" doc:"flavor and version"`
	Replicas      int          `json:"replicas" doc:"replicas attached to the server"`
	Key           string       `json:"key" doc:"the key by which rows are copied and changes followed"`
	KeyColumns    []string     `json:"key_columns" doc:"its columns"`
	RowsEstimate  int64        `json:"rows_estimate" doc:"rows, as the server estimates them"`
	DataBytes     int64        `json:"data_bytes" doc:"size of the rows, as the server estimates it"`
	IndexBytes    int64        `json:"index_bytes" doc:"size of the secondary indexes, likewise"`
	Shadow        string       `json:"shadow" doc:"name of the table that is built"`
	Old           string       `json:"old" doc:"name that the table gets when it is swapped out"`
	State         string       `json:"state" doc:"name of the table that holds the run's state"`
	Former        string       `json:"former" doc:"what becomes of what an earlier run left; empty if that left nothing"`
	Risks         []riskRecord `json:"risks" doc:"what the operator should know; may be empty"`
}

type riskRecord struct {
	Code string `json:"code" doc:"stable name of the kind of risk or problem"`
	What string `json:"what" doc:"what was found"`
	Why  string `json:"why" doc:"why it matters"`
	Fix  string `json:"fix" doc:"what to do; may be empty"`
}

func riskRecords(risks []plan.Risk) []riskRecord {
	records := make([]riskRecord, 0, len(risks))
	for _, r := range risks {
		records = append(records, riskRecord{string(r.Code), r.What, r.Why, r.Fix})
	}
	return records
}

type phaseRecord struct {
	head
	Phase string `json:"phase" doc:"check, shadow, prescan, start, copy, index, catchup, verify, cutover, cleanup or done; catchup comes before verify and before each cutover"`
}

type noteRecord struct {
	head
	Text string `json:"text" doc:"something to read once"`
}

type progressRecord struct {
	head
	Phase           string  `json:"phase" doc:"the phase that the run is in"`
	ElapsedMS       ms      `json:"elapsed_ms" doc:"since the run began"`
	RowsCopied      int64   `json:"rows_copied" doc:"rows written by the row copy"`
	RowsTotal       int64   `json:"rows_total" doc:"rows expected, an estimate"`
	Fraction        float64 `json:"fraction" doc:"of the row copy, 0 to 1"`
	CopyRowsPerS    float64 `json:"copy_rows_per_s" doc:"rate of the row copy, smoothed"`
	ChunkRows       int     `json:"chunk_rows" doc:"rows of a chunk now"`
	Workers         float64 `json:"workers" doc:"row copy workers that may work: fewer where the server is busy; with 1.5 the second works half of its time"`
	Captured        int64   `json:"captured_changes" doc:"changes read from the binlog"`
	Applied         int64   `json:"applied_keys" doc:"keys synced from the backlog"`
	Dropped         int64   `json:"dropped_changes" doc:"changes ahead of the row copy, which reads their rows anyway"`
	Merged          int64   `json:"merged_changes" doc:"changes of a key that was in the backlog already"`
	Backlog         int     `json:"backlog_keys" doc:"keys not yet applied"`
	BacklogLimit    int     `json:"backlog_limit_keys" doc:"the number at which capture waits"`
	ApplyKeysPerS   float64 `json:"apply_keys_per_s" doc:"rate of apply, smoothed"`
	CaptureDelayMS  ms      `json:"capture_delay_ms" doc:"how far capture is behind the server"`
	BinlogReadBytes int64   `json:"binlog_read_bytes" doc:"binlog received"`
	ETAMS           *ms     `json:"eta_ms" doc:"until the cut-over may begin; null: not known"`
	Retries         int64   `json:"retries" doc:"syncs that were tried again"`
	IndexFraction   float64 `json:"index_fraction" doc:"of the index build, where the server tells; else 0"`
	Verified        int64   `json:"rows_verified" doc:"rows compared with the new table's"`
	Scanned         int64   `json:"rows_scanned" doc:"rows that the prescan has looked at"`
}

type blockedRecord struct {
	head
	WaitingMS ms              `json:"waiting_ms" doc:"since the first look"`
	Blockers  []blockerRecord `json:"blockers" doc:"the sessions in the way"`
}

type blockerRecord struct {
	ConnectionID uint64 `json:"connection_id" doc:"for KILL"`
	User         string `json:"user" doc:"its account"`
	Host         string `json:"host" doc:"where it comes from"`
	Command      string `json:"command" doc:"as in the process list"`
	AgeMS        ms     `json:"age_ms" doc:"since its transaction or statement began"`
	Statement    string `json:"statement" doc:"running, or the last one; may be empty"`
	Table        string `json:"table" doc:"the table whose lock it holds; may be empty"`
	Why          string `json:"why" doc:"what it stands in the way of"`
	Snapshot     bool   `json:"snapshot" doc:"it is an old snapshot, which --old-snapshots is about, and no lock"`
}

type lockAttemptRecord struct {
	head
	Number   int  `json:"number" doc:"from 1"`
	Granted  bool `json:"granted" doc:"whether the lock was granted within its bound"`
	WaitedMS ms   `json:"waited_ms" doc:"until it was granted or withdrawn"`
}

type swappedRecord struct {
	head
	LockHeldMS  ms  `json:"lock_held_ms" doc:"from the grant of the lock to its release"`
	DrainedKeys int `json:"drained_keys" doc:"keys applied under the lock"`
	Attempts    int `json:"attempts" doc:"attempts that it took"`
}

type retryRecord struct {
	head
	What  string `json:"what" doc:"chunk or keys"`
	Cause string `json:"cause" doc:"the server's error"`
}

type mismatchRecord struct {
	head
	Key      string `json:"key" doc:"of the row, as a literal"`
	Column   string `json:"column" doc:"of the new table; empty where one of the tables has no such row"`
	Expected string `json:"expected" doc:"what the ALTER makes of the old table's value, shortened; or: present, missing"`
	Found    string `json:"found" doc:"in the new table"`
}

type verifiedRecord struct {
	head
	Rows      int64 `json:"rows" doc:"compared"`
	Suspects  int   `json:"suspects" doc:"rows that differed at first, as a change was not yet applied"`
	Repaired  int   `json:"repaired" doc:"rows that differed and were synced anew"`
	Unproven  int   `json:"unproven" doc:"rows that changed all the time and are compared under the lock"`
	ElapsedMS ms    `json:"elapsed_ms" doc:"of the comparison"`
}

type findingRecord struct {
	head
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

type prescannedRecord struct {
	head
	Needed    bool  `json:"needed" doc:"false: the definitions prove by themselves that the new table takes every row"`
	Rows      int64 `json:"rows" doc:"whose values were looked at; 0 where only duplicates may be"`
	Refused   int   `json:"refused" doc:"findings at which a run stops"`
	ElapsedMS ms    `json:"elapsed_ms" doc:"of the prescan"`
}

// resultRecord is the last line, whatever happened.
type resultRecord struct {
	head
	Outcome         string       `json:"outcome" doc:"name of the exit code: done, failed, usage, refused, aborted, mismatch, swap_unknown, leftovers, stopped, unfit, left_at_once"`
	ExitCode        int          `json:"exit_code" doc:"the exit code that follows"`
	Error           string       `json:"error" doc:"the cause; empty if done"`
	Phase           string       `json:"phase" doc:"the phase in which it failed; empty if none had begun"`
	Swapped         bool         `json:"swapped" doc:"whether the table is known to have its new schema"`
	Left            string       `json:"left" doc:"what is left on the server; empty if done"`
	Next            string       `json:"next" doc:"what to do; may be empty"`
	Problems        []riskRecord `json:"problems" doc:"every reason of a refusal"`
	Old             string       `json:"old" doc:"the former table, if it was kept"`
	ElapsedMS       ms           `json:"elapsed_ms" doc:"of the run"`
	PrescanMS       ms           `json:"prescan_ms" doc:"of the look for rows that the new table doesn't take"`
	CopyMS          ms           `json:"copy_ms" doc:"of the row copy"`
	IndexMS         ms           `json:"index_ms" doc:"of the build of deferred indexes"`
	VerifyMS        ms           `json:"verify_ms" doc:"of the comparison"`
	RowsCopied      int64        `json:"rows_copied" doc:"rows written by the row copy"`
	Scanned         int64        `json:"rows_scanned" doc:"rows that the prescan has looked at"`
	Verified        int64        `json:"rows_verified" doc:"rows compared with the new table's"`
	Repaired        int          `json:"rows_repaired" doc:"rows that differed and were synced anew"`
	Captured        int64        `json:"captured_changes" doc:"as in progress"`
	Applied         int64        `json:"applied_keys" doc:"as in progress"`
	Dropped         int64        `json:"dropped_changes" doc:"as in progress"`
	Merged          int64        `json:"merged_changes" doc:"as in progress"`
	Retries         int64        `json:"retries" doc:"as in progress"`
	Attempts        int          `json:"attempts" doc:"attempts to get the lock of the cut-over"`
	LockHeldMS      ms           `json:"lock_held_ms" doc:"from its grant to its release"`
	DrainedKeys     int          `json:"drained_keys" doc:"keys applied under it"`
	BinlogReadBytes int64        `json:"binlog_read_bytes" doc:"binlog received"`
	PeakRSSBytes    int64        `json:"peak_rss_bytes" doc:"most memory that this process held; 0: not known"`
	CPUMS           ms           `json:"cpu_ms" doc:"processor time of this process; 0: not known"`
}
