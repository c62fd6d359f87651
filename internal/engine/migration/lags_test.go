package migration

import (
	"testing"
	"time"

	"midstream/internal/engine/intake"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// TestNoLagOfReplicasThatAreNotWatched: when replicas are not watched any more (set
// max-replica-lag=0) progress, metrics and plots tell of no lag, whatever the last one was, and
// whatever a look that was under way sees.
func TestNoLagOfReplicasThatAreNotWatched(t *testing.T) {
	r := &brakes{run: &run{link: intake.NewLink(intake.Deps{}), Migration: &Migration{pool: &dbconn.Pool{}, plan: &plan.Plan{}}}}
	watch := func() {
		t.Helper()
		if _, err := r.sensors(t.Context(), operator.Throttle{}); err != nil {
			t.Fatal(err)
		}
	}
	watch()
	former := r.lags
	r.noteLag(former, "db2:3306", time.Minute)
	if got := r.mostBehind(); got != time.Minute {
		t.Errorf("it is %s behind", got)
	}
	watch()
	r.noteLag(former, "db2:3306", time.Hour)
	if got := r.mostBehind(); got >= 0 {
		t.Errorf("of a replica that is not watched is told that it is %s behind", got)
	}
}
