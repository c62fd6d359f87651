package migration_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/lab/mysqltest"
)

// gatesTold lists why gates were closed, in one line each.
func (b *bench) gatesTold() (text string) {
	b.told.mu.Lock()
	defer b.told.mu.Unlock()
	for _, e := range b.told.events {
		if t, is := e.(event.Throttled); is {
			for _, g := range t.Gates {
				text += g.Name + ": " + g.Why + "\n"
			}
		}
	}
	return text
}

// TestReplicaLagHoldsTheCopy: rows are copied and changes applied as fast as a replica applies
// them, and not at all while its replication is stopped.
func TestReplicaLagHoldsTheCopy(t *testing.T) {
	mysqltest.Seldom(t)
	onAllReplicas(t, func(primary, replica *bench) {
		primary.numbered(10_000)
		replica.catchUpWith(primary)
		stop := primary.writer(primary.db)
		defer stop()
		primary.settings.Throttle = operator.Throttle{
			ReplicaLag: time.Second,
			Replicas:   []operator.Follower{{Name: "the replica", DB: replica.db}},
		}
		stopped, started := make(chan struct{}), make(chan struct{})
		halt := onPhase(event.PhaseCopy, func() {
			replica.exec("STOP " + replica.word("REPLICA") + " SQL_THREAD")
			close(stopped)
			go func() {
				defer close(started)
				time.Sleep(3 * time.Second)
				replica.exec("START " + replica.word("REPLICA"))
			}()
		})
		began := time.Now()
		primary.mustMigrate(clauses, halt)
		<-stopped
		<-started
		if took := time.Since(began); took < 3*time.Second {
			primary.Errorf("it took %s while nothing was replicated", took)
		}
		told := primary.gatesTold()
		for _, want := range []string{"replication of the replica is stopped", "the replica is "} {
			if !strings.Contains(told, want) {
				primary.Errorf("missing %q in:\n%s", want, told)
			}
		}
		stop()
		var source, copied string
		for range 50 { // the last write may be on its way
			replica.catchUpWith(primary)
			if source, copied = primary.checksum("t"), replica.checksum("t"); source == copied {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		primary.Errorf("%s, on the replica %s", source, copied)
	})
}
