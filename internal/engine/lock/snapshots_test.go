package lock_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/lock"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestL10_SnapshotsWhileOtherRunsLook: a server shows InnoDB's transactions from a cache, which
// does not change while it is read often. Each of many runs still sees a transaction that begins
// and ends.
func TestL10_SnapshotsWhileOtherRunsLook(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			snapshotsWhileOthersLook(t, mysqltest.Server(t, version))
		})
	}
}

func snapshotsWhileOthersLook(t *testing.T, server *mysqltest.Instance) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	pool, err := dbconn.Open(
		ctx,
		dbconn.Config{Network: server.Network, Address: server.Address, User: server.User, Password: dbconn.Secret(server.Password)},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db := server.Open(t, "")
	old, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	exec(ctx, t, old, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

	const runs = 6
	var looking sync.WaitGroup
	saw := make(chan looked)
	for run := range runs {
		looking.Go(func() {
			w := lock.Watcher{DB: pool.DB(), Tables: []schema.Name{{Schema: "mysql", Table: "user"}}}
			for n := time.Duration(run); ; n = 0 {
				select { // the runs begin at different times
				case <-ctx.Done():
					return
				case <-time.After(n * 20 * time.Millisecond):
				}
				found, err := w.Snapshots(ctx, "2100-01-01 00:00:00")
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				select {
				case <-ctx.Done():
					return
				case saw <- looked{run, len(found) > 0}:
				}
			}
		})
	}
	for _, want := range []bool{true, false} {
		statement := map[bool]string{true: "START TRANSACTION WITH CONSISTENT SNAPSHOT", false: "COMMIT"}[want]
		exec(ctx, t, old, statement)
		for done := map[int]bool{}; len(done) < runs; {
			select {
			case <-ctx.Done():
				t.Fatalf("after %s %d of %d runs have seen it", statement, len(done), runs)
			case l := <-saw:
				if l.old == want {
					done[l.run] = true
				}
			}
		}
	}
	cancel()
	looking.Wait()
}

// looked is what a run has seen.
type looked struct {
	run int
	old bool
}

func exec(ctx context.Context, t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
