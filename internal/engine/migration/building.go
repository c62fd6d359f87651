package migration

import (
	"context"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// building is the progress that the server reports of a build of ours.
type building struct {
	fraction float64 // 0 if not known
	step     string  // in its words; "" where none is at work
}

// buildQuery finds our own ALTER TABLE. The stage's work is available if the consumer
// events_stages_current is on, and by default it is off. The step is always available.
const buildQuery = `
SELECT t.processlist_state, IFNULL(MAX(s.work_completed / NULLIF(s.work_estimated, 0)), 0)
  FROM performance_schema.threads t LEFT JOIN performance_schema.events_stages_current s
       ON s.thread_id = t.thread_id AND s.event_name LIKE 'stage/innodb/alter table%'
 WHERE t.processlist_id IN (` + dbconn.OwnSessions + `) AND t.processlist_info LIKE 'ALTER TABLE %' AND t.processlist_state IS NOT NULL
 GROUP BY t.processlist_state`

// lookAtBuild asks the server how far a build is while one may be at work.
func (r *run) lookAtBuild() building {
	phase := r.account.phaseNow()
	var b building
	if phase != event.PhaseIndex && phase != event.PhaseNative {
		return b
	}
	ctx, cancel := context.WithTimeout(context.Background(), progressEvery)
	defer cancel()
	_ = r.pool.DB().QueryRowContext(ctx, buildQuery).Scan(&b.step, &b.fraction) // else it is not known
	b.fraction = min(1, b.fraction)
	return b
}
