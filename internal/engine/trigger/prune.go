package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
)

const (
	// pruneMost is the number of deletions in a row, so that reading does not wait for long.
	pruneMost = 10
	// stretchLeast is the number of rows from which on a stretch of the log is deleted as one.
	stretchLeast = 16
)

// deletion is rows of the log, and the statement that deletes them.
type deletion struct {
	rows      []row
	statement string
}

// prune deletes rows whose keys are synced, or left to the row copy. What can't be deleted is tried
// again by the next pass. REQUIRES: turn is held.
func (l *Log) prune(ctx context.Context, session *dbconn.Session) (err error) {
	oldest := l.deps.Backlog.Oldest()
	for len(l.segments) > 0 && l.segments[0].number < oldest {
		l.ready = append(l.ready, l.segments[0].rows...)
		l.segments = l.segments[1:]
	}
	most := l.deletable(time.Now())
	if most == 0 {
		return nil
	}
	l.pruned = time.Now()
	deletions := l.deletions(l.ready[:most])
	l.ready = l.ready[most:]
	for i, d := range deletions {
		if i < pruneMost && err == nil {
			_, err = session.Exec(ctx, d.statement)
		}
		if i >= pruneMost || err != nil {
			l.ready = append(l.ready, d.rows...)
			continue
		}
		for _, one := range d.rows {
			l.read.remove(one.id)
		}
	}
	return err
}

// deletable is how many of the rows that may be deleted are to be, in this pass. A deletion costs
// the server what the trigger's insert has cost it (undo, purge, the binlog): while the application
// needs all of it they are left, up to a number, but for a log with so many gaps that to look for
// what was not read would cost more.
func (l *Log) deletable(now time.Time) int {
	n := len(l.ready)
	if l.deps.Busy() && len(l.read) <= mostGaps {
		n -= l.cfg.Keep
	}
	if n <= 0 || n < l.cfg.Prune && now.Before(l.pruned.Add(l.cfg.Every)) {
		return 0
	}
	return min(n, pruneMost*l.cfg.Prune) // of the rest nothing could be deleted in this pass
}

// deletions are what deletes rows that were read, each of at most Prune rows, and without a look at
// any other: a row beside them may be one that the application has just written, and locked. Rows
// that follow each other without a gap are a stretch, which is deleted as a range, but for its last
// row: looking for the end of a range, the server comes to the row behind it. Such last rows, and
// those that stand alone, are deleted by their whole keys.
func (l *Log) deletions(rows []row) []deletion {
	rows = slices.SortedFunc(
		slices.Values(rows),
		func(a, b row) int { return cmp.Or(cmp.Compare(a.origin, b.origin), cmp.Compare(a.id, b.id)) },
	)
	var found []deletion
	var lone []row
	for len(rows) > 0 {
		n := stretch(rows, l.cfg.Prune+1)
		if n >= stretchLeast {
			found = append(found, deletion{rows[:n-1], l.ofStretch(rows[:n-1])})
			lone = append(lone, rows[n-1])
		} else {
			lone = append(lone, rows[:n]...)
		}
		rows = rows[n:]
	}
	for some := range slices.Chunk(lone, l.cfg.Prune) {
		found = append(found, deletion{some, l.ofKeys(some)})
	}
	return found
}

// stretch counts the rows, at most so many, that follow each other without a gap from the first on.
func stretch(rows []row, most int) int {
	n := 1
	for n < min(len(rows), most) && rows[n].origin == rows[0].origin && rows[n].id == rows[n-1].id+1 {
		n++
	}
	return n
}

func (l *Log) ofStretch(rows []row) string {
	log := l.deps.Set.Log.Quoted()
	return fmt.Sprintf("DELETE %s FROM %s FORCE INDEX (PRIMARY) WHERE id BETWEEN %d AND %d AND origin = %d",
		log, log, rows[0].id, rows[len(rows)-1].id, rows[0].origin)
}

// ofKeys joins with a list of keys: of a small log the server reads every row if they stand in a condition, whatever
// index it is told to use.
func (l *Log) ofKeys(rows []row) string {
	var gone strings.Builder
	for i, one := range rows {
		if i > 0 {
			gone.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&gone, "SELECT %d AS id, %d AS origin", one.id, one.origin)
	}
	log := l.deps.Set.Log.Quoted()
	return fmt.Sprintf("DELETE %s FROM (%s) AS gone STRAIGHT_JOIN %s FORCE INDEX (PRIMARY) ON %s.id = gone.id AND %s.origin = gone.origin",
		log, gone.String(), log, log, log)
}
