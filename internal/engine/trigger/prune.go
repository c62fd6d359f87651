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
	// pruneMost is the number of deletions in a row, because reading must not wait for long.
	pruneMost = 10
	// stretchLeast is the number of rows above which a stretch of the log is deleted at once.
	stretchLeast = 16
)

// deletion is rows of the log, and the statement that deletes them.
type deletion struct {
	rows      []row
	statement string
}

// prune deletes rows with keys that are synced, or left to the row copy. The next pass tries failed
// deletions again. REQUIRES: turn is held.
func (l *Log) prune(ctx context.Context, session *dbconn.Session) (err error) {
	oldest := l.deps.Backlog.Oldest()
	for len(l.segments) > 0 && l.segments[0].number < oldest {
		l.ready = append(l.ready, l.segments[0].rows...)
		l.segments = l.segments[1:]
	}
	most := l.deletable(time.Now())
	if most == 0 || l.deps.Keeps {
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

// deletable returns how many of the rows that may be deleted this pass deletes. A deletion costs
// the server as much as the trigger's insert (undo, purge, the binlog). So while the application
// needs all of the server, up to a number of rows are left. The exception is a log with so many
// gaps that the search for unread rows would cost more.
func (l *Log) deletable(now time.Time) int {
	n := len(l.ready)
	if l.deps.Busy() && len(l.read) <= mostGaps {
		n -= l.cfg.Keep
	}
	if n <= 0 || n < l.cfg.Prune && now.Before(l.pruned.Add(l.cfg.Every)) {
		return 0
	}
	// In this pass none of the other rows could be deleted.
	return min(n, pruneMost*l.cfg.Prune)
}

// deletions returns deletions of rows that were read, each of at most Prune rows. They must not
// touch any other row, because the application may just have written and locked a neighbour. Rows
// that follow each other without a gap are a stretch, and are deleted as a range, except the last
// row. To find the end of a range, the server reads the row behind it. Such last rows, and single
// rows, are deleted by their complete keys.
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

// ofKeys joins with a list of keys. If the keys were in a condition, the server would read every
// row of a small log, for any index hint.
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
