package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
)

// tally counts events of one kind and the time that they took.
type tally struct {
	n    int64
	took time.Duration
}

func (t tally) plus(o tally) tally  { return tally{t.n + o.n, t.took + o.took} }
func (t tally) minus(o tally) tally { return tally{t.n - o.n, t.took - o.took} }

// mean returns the time of one event; 0 if there is none.
func (t tally) mean() time.Duration {
	if t.n <= 0 {
		return 0
	}
	return t.took / time.Duration(t.n)
}

// activity is what the application did between two looks.
type activity struct {
	// statements are the statements that ended, by performance_schema's name of their kind.
	statements map[string]tally
	// busy counts sessions with a running statement; 0 if enough statements have ended to show the
	// load.
	busy int
	// sessions counts those of the application that have run a statement lately; 0 if not known.
	sessions int
	over     time.Duration // between the two looks
}

// ended is how many statements ended.
func (a activity) ended() (n int64) {
	for _, t := range a.statements {
		n += t.n
	}
	return n
}

// kinds of statements are listed: performance_schema has 200 of them for each session, and sums a
// kind over all sessions when it is asked for.
var kinds = []string{
	"com/Execute",
	"sql/select",
	"sql/insert",
	"sql/update",
	"sql/delete",
	"sql/replace",
	"sql/insert_select",
	"sql/replace_select",
	"sql/update_multi",
	"sql/delete_multi",
	"sql/call_procedure",
	"sql/begin",
	"sql/commit",
}

// These queries ask for each kind and session by equality, because performance_schema's indexes
// serve only equality.
var (
	allQuery = `SELECT 0, s.event_name, s.count_star, s.sum_timer_wait FROM (` + kindRows() + `) AS k
		STRAIGHT_JOIN performance_schema.events_statements_summary_global_by_event_name s ON s.event_name = k.kind`
	ownQuery = `SELECT s.thread_id, s.event_name, s.count_star, s.sum_timer_wait FROM (` + kindRows() + `) AS k STRAIGHT_JOIN (%s) AS own
		STRAIGHT_JOIN performance_schema.events_statements_summary_by_thread_by_event_name s ON s.thread_id = own.id AND s.event_name = k.kind`
)

const (
	ownThreads = `SELECT t.thread_id FROM performance_schema.threads t WHERE t.processlist_id IN (` + dbconn.OwnSessions + `)`
	busyQuery  = `SELECT COUNT(*) FROM performance_schema.threads t
		WHERE t.processlist_command IN ('Query', 'Execute') AND t.processlist_id NOT IN (` + dbconn.OwnSessions + `)`
	// usedQuery counts the sessions that run a statement, or have ended one less than two seconds ago.
	usedQuery = `SELECT COUNT(*) FROM performance_schema.threads t
		WHERE (t.processlist_command IN ('Query', 'Execute') OR t.processlist_command = 'Sleep' AND t.processlist_time <= 1)
			AND t.processlist_id NOT IN (` + dbconn.OwnSessions + `)`
)

func kindRows() string {
	var rows []string
	for _, kind := range kinds {
		rows = append(rows, "SELECT 'statement/"+kind+"' AS kind")
	}
	return strings.Join(rows, " UNION ALL ")
}

// ownAgain is how often our own sessions are looked up: they come and go with the phases of a run.
const ownAgain = time.Second

// watch derives activities from the server's counters.
type watch struct {
	db  *sql.DB
	at  time.Time
	all map[string]tally
	// own is by session, because a session's counters go when it ends.
	own   map[int64]map[string]tally
	asked time.Time // for our sessions, and for those of the application
	// used is the number of sessions that the application uses.
	used int
}

// look returns the activity since the last look; the first look returns none.
func (w *watch) look(ctx context.Context) (activity, error) {
	a, err := w.read(ctx)
	if err == nil && a.ended() < few {
		err = w.db.QueryRowContext(ctx, busyQuery).Scan(&a.busy)
	}
	if err != nil {
		return activity{}, fmt.Errorf("measure what the application does: %w", err)
	}
	if w.uncounted() && a.over > 0 {
		// If the server is configured to count no statements, as many are at work as end in a
		// second, times the time of one (Little's law).
		a.statements = map[string]tally{"busy": {int64(few), time.Duration(a.busy) * time.Second}}
	}
	return a, nil
}

// few is the number of statements below which a look leaves two cases open: no session is active,
// or all sessions wait for something.
const few = 3

// uncounted reports whether the server has never counted a statement.
func (w *watch) uncounted() bool {
	for _, t := range w.all {
		if t.n > 0 {
			return false
		}
	}
	return true
}

func (w *watch) read(ctx context.Context) (activity, error) {
	query, err := w.query(ctx)
	if err != nil {
		return activity{}, err
	}
	rows, err := w.db.QueryContext(ctx, query)
	if err != nil {
		return activity{}, err
	}
	defer rows.Close()
	now, before := activity{statements: map[string]tally{}}, w.at
	for rows.Next() {
		var kind string
		var thread, n int64
		var picoseconds float64
		if err := rows.Scan(&thread, &kind, &n, &picoseconds); err != nil {
			return activity{}, err
		}
		t := tally{n, time.Duration(picoseconds / 1e3)}
		if thread == 0 {
			now.statements[kind] = now.statements[kind].plus(t.minus(w.all[kind]))
			w.all[kind] = t
		} else {
			if last, known := w.own[thread][kind]; known {
				now.statements[kind] = now.statements[kind].minus(t.minus(last))
			}
			w.own[thread][kind] = t
		}
	}
	w.at = time.Now()
	if before.IsZero() {
		return activity{}, rows.Err()
	}
	now.over, now.sessions = w.at.Sub(before), w.used
	return now, rows.Err()
}

// query returns the query to ask now.
func (w *watch) query(ctx context.Context) (string, error) {
	if w.all == nil {
		w.all, w.own = map[string]tally{}, map[int64]map[string]tally{}
	}
	if time.Since(w.asked) > ownAgain {
		rows, err := w.db.QueryContext(ctx, ownThreads)
		if err != nil {
			return "", err
		}
		defer rows.Close()
		before := w.own
		w.own, w.asked = map[int64]map[string]tally{}, time.Now()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return "", err
			}
			if w.own[id] = before[id]; w.own[id] == nil {
				w.own[id] = map[string]tally{}
			}
		}
		if err := rows.Err(); err != nil {
			return "", err
		}
		if err := w.db.QueryRowContext(ctx, usedQuery).Scan(&w.used); err != nil {
			return "", err
		}
	}
	if len(w.own) == 0 {
		return allQuery, nil
	}
	var ids []string
	for id := range w.own {
		ids = append(ids, fmt.Sprintf("SELECT %d AS id", id))
	}
	return allQuery + " UNION ALL " + fmt.Sprintf(ownQuery, strings.Join(ids, " UNION ALL ")), nil
}

// sum is that of all kinds.
func (a activity) sum() (all tally) {
	for _, t := range a.statements {
		all = all.plus(t)
	}
	return all
}

// idle reports whether there is no session to be slowed down.
func (a activity) idle() bool {
	return a.busy == 0 && a.ended() < few
}

// add adds the activity of the next period.
func (a *activity) add(b activity) {
	if a.statements == nil {
		a.statements = map[string]tally{}
	}
	for kind, t := range b.statements {
		a.statements[kind] = a.statements[kind].plus(t)
	}
	a.over += b.over
	a.sessions = max(a.sessions, b.sessions)
}

// means are the mean seconds of the statements of each kind that there were.
func (a activity) means() map[string]float64 {
	means := map[string]float64{}
	for kind, t := range a.statements {
		if t.n > 0 && t.took > 0 {
			means[kind] = t.mean().Seconds()
		}
	}
	return means
}

// strange bounds the weight of one kind of statement: a single report that runs for a minute does
// not mean that the server is slow.
const strange = 8.0

// against returns the factor by which statements took longer than the given means. Each kind counts
// by the number of its statements.
func (a activity) against(means map[string]float64) float64 {
	var now, then float64
	for kind, t := range a.statements {
		if u := means[kind]; u > 0 && t.n > 0 {
			weight := float64(t.n) * u
			now += weight * min(strange, max(1/strange, t.mean().Seconds()/u))
			then += weight
		}
	}
	if then == 0 {
		return 1
	}
	return now / then
}
