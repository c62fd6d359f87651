package native

import (
	"context"
	"database/sql"

	"midstream/internal/mysql/dbconn"
)

// Building is the progress that the server reports of a build of ours.
type Building struct {
	Fraction float64 // 0 if not known
	Step     string  // in its words; "" if none is at work
}

// buildQuery finds our own ALTER TABLE. The stage's work is available if the consumer
// events_stages_current is on, and by default it is off. The step is always available.
const buildQuery = `
SELECT t.processlist_state, IFNULL(MAX(s.work_completed / NULLIF(s.work_estimated, 0)), 0)
  FROM performance_schema.threads t LEFT JOIN performance_schema.events_stages_current s
       ON s.thread_id = t.thread_id AND s.event_name LIKE 'stage/innodb/alter table%'
 WHERE t.processlist_id IN (` + dbconn.OwnSessions + `) AND t.processlist_info LIKE 'ALTER TABLE %' AND t.processlist_state IS NOT NULL
 GROUP BY t.processlist_state`

// Look asks the server how far a build of ours is.
func Look(ctx context.Context, db *sql.DB) Building {
	var b Building
	_ = db.QueryRowContext(ctx, buildQuery).Scan(&b.Step, &b.Fraction) // else it is not known
	b.Fraction = min(1, b.Fraction)
	return b
}
