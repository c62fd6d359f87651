package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL9_AnAccountThatThePlanAccepts: while performance_schema is off (MariaDB, by default), the plan asks
// for no grant on it. A run of such an account finds old snapshots all the same, waits for them, and ends.
func TestL9_AnAccountThatThePlanAccepts(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range inTurn(t, []string{"mariadb-11.8", "5.7", "9.7", "mariadb-10.11", "8.0"}) {
		t.Run(version, func(t *testing.T) {
			b := on(t, version, mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{"performance_schema": "OFF"}}))
			b.numbered(900)
			grants := map[bool]string{
				false: "REPLICATION SLAVE, REPLICATION CLIENT, PROCESS, SUPER",
				true:  "REPLICATION SLAVE, BINLOG MONITOR, PROCESS, CONNECTION ADMIN",
			}[isMariaDB(version)]
			b.exec("CREATE USER few", "GRANT ALL ON `"+b.schema+"`.* TO few", "GRANT "+grants+" ON *.* TO few")
			b.server = &mysqltest.Instance{Address: b.server.Address, User: "few"}
			old := b.conn()
			for _, s := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
				if _, err := old.ExecContext(b.ctx(), s); err != nil {
					b.Fatal(err)
				}
			}
			r := b.background(b.ctx(), "ADD COLUMN added INT")
			go func() {
				<-r.done
				b.told.listen(event.Note{Text: "the run has ended"})
			}()
			b.awaited("word of the old snapshot", func(e event.Event) bool {
				blocked, is := e.(event.Blocked)
				note, isNote := e.(event.Note)
				return is && strings.Contains(blocked.Blockers[0].Why, "snapshot") || isNote && note.Text == "the run has ended"
			})
			if _, err := old.ExecContext(b.ctx(), "COMMIT"); err != nil {
				b.Fatal(err)
			}
			r.wait(b)
			b.equal()
		})
	}
}
