package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/dbconn"
)

// tally counts events of one kind and the time that they took.
type tally struct {
	n    int64
	took time.Duration
}

func (t tally) plus(o tally) tally  { return tally{t.n + o.n, t.took + o.took} }
func (t tally) minus(o tally) tally { return tally{t.n - o.n, t.took - o.took} }

// mean is the time of one event; 0 where there is none.
func (t tally) mean() time.Duration {
	if t.n <= 0 {
		return 0
	}
	return t.took / time.Duration(t.n)
}

// activity is what the application did between two looks.
type activity struct {
	statements map[string]tally // that ended, by performance_schema's name of their kind
	syncs      map[string]tally // of the binlog and the redo log, ours included
	busy       int              // sessions that have a statement running
	over       time.Duration    // between the two looks
}

// ended is how many statements ended.
func (a activity) ended() (n int64) {
	for _, t := range a.statements {
		n += t.n
	}
	return n
}

// activityQuery reads the server's counters of statements, those of our own sessions, and those of fsync, and
// counts the sessions of others that are at work. The kinds of statements are listed: the table of the
// sessions' own has 200 rows a session.
const activityQuery = `
SELECT 'all', 0, event_name, count_star, sum_timer_wait FROM performance_schema.events_statements_summary_global_by_event_name
 WHERE event_name IN (` + kinds + `)
UNION ALL
SELECT 'own', s.thread_id, s.event_name, s.count_star, s.sum_timer_wait FROM performance_schema.threads t
  JOIN performance_schema.events_statements_summary_by_thread_by_event_name s ON s.thread_id = t.thread_id
 WHERE t.processlist_id IN (` + dbconn.OwnSessions + `) AND s.event_name IN (` + kinds + `)
UNION ALL
SELECT 'sync', 0, event_name, count_misc, sum_timer_misc FROM performance_schema.file_summary_by_event_name
 WHERE event_name IN ('wait/io/file/sql/binlog', 'wait/io/file/innodb/innodb_log_file')
UNION ALL
SELECT 'busy', 0, '', COUNT(*), 0 FROM performance_schema.threads t
 WHERE t.processlist_command IN ('Query', 'Execute') AND t.processlist_id NOT IN (` + dbconn.OwnSessions + `)`

const kinds = `'statement/com/Execute', 'statement/sql/select', 'statement/sql/insert', 'statement/sql/update', 'statement/sql/delete',
	'statement/sql/replace', 'statement/sql/insert_select', 'statement/sql/replace_select', 'statement/sql/update_multi',
	'statement/sql/delete_multi', 'statement/sql/call_procedure', 'statement/sql/begin', 'statement/sql/commit'`

// watch tells activities from the server's counters.
type watch struct {
	db     *sql.DB
	at     time.Time
	all    map[string]tally
	own    map[ownKind]tally // of each session of ours that there was: when it ends its counters go
	synced map[string]tally
}

type ownKind struct {
	thread int64
	kind   string
}

// look returns what was done since the last one; the first one returns nothing but who is busy.
func (w *watch) look(ctx context.Context) (activity, error) {
	rows, err := w.db.QueryContext(ctx, activityQuery)
	if err != nil {
		return activity{}, fmt.Errorf("look what the application does: %w", err)
	}
	defer rows.Close()
	now := activity{statements: map[string]tally{}, syncs: map[string]tally{}}
	first, before := w.at.IsZero(), w.at
	if first {
		w.all, w.own, w.synced = map[string]tally{}, map[ownKind]tally{}, map[string]tally{}
	}
	for rows.Next() {
		var what, kind string
		var thread, n int64
		var picoseconds float64
		if err := rows.Scan(&what, &thread, &kind, &n, &picoseconds); err != nil {
			return activity{}, fmt.Errorf("look what the application does: %w", err)
		}
		t := tally{n, time.Duration(picoseconds / 1e3)}
		switch what {
		case "all":
			now.statements[kind] = now.statements[kind].plus(t.minus(w.all[kind]))
			w.all[kind] = t
		case "own":
			key := ownKind{thread, kind}
			now.statements[kind] = now.statements[kind].minus(t.minus(w.own[key]))
			w.own[key] = t
		case "sync":
			now.syncs[kind] = t.minus(w.synced[kind])
			w.synced[kind] = t
		case "busy":
			now.busy = int(n)
		}
	}
	if err := rows.Err(); err != nil {
		return activity{}, fmt.Errorf("look what the application does: %w", err)
	}
	w.at = time.Now()
	if first {
		return activity{busy: now.busy}, nil
	}
	now.over = w.at.Sub(before)
	return now, nil
}

// idle says whether there is nobody to be slowed down.
func (a activity) idle() bool {
	return a.busy == 0 && float64(a.ended()) < max(1, idleBelow*a.over.Seconds())
}

// add adds what was done in the next time.
func (a *activity) add(b activity) {
	if a.statements == nil {
		a.statements = map[string]tally{}
	}
	for kind, t := range b.statements {
		a.statements[kind] = a.statements[kind].plus(t)
	}
	a.over += b.over
	a.busy = b.busy
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

// strange bounds what one kind of statement says: a single report that runs for a minute is no slow server.
const strange = 8.0

// against is by which factor statements took longer than those means, each kind by the number of its statements.
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
