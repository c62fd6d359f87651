package brakes

import (
	"testing"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
)

// TestNoLagOfReplicasThatAreNotWatched: when replicas are no longer watched (set
// max-replica-lag=0), progress, metrics and plots show no lag, whatever the last lag was, and
// whatever a measurement that was under way finds.
func TestNoLagOfReplicasThatAreNotWatched(t *testing.T) {
	r := &Brakes{deps: Deps{Pool: &dbconn.Pool{}, Captured: func(operator.Throttle) []throttle.Sensor { return nil }}}
	watch := func() {
		t.Helper()
		if _, err := r.sensors(t.Context(), operator.Throttle{}); err != nil {
			t.Fatal(err)
		}
	}
	watch()
	former := r.lags
	r.noteLag(former, "db2:3306", time.Minute)
	if got := r.MostBehind(); got != time.Minute {
		t.Errorf("it is %s behind", got)
	}
	watch()
	r.noteLag(former, "db2:3306", time.Hour)
	if got := r.MostBehind(); got >= 0 {
		t.Errorf("a replica that is not watched has a lag of %s", got)
	}
}
