package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// TestL6_ForeignKeys: a table with parents, children and itself among them is changed while all of
// them are written to. Every constraint holds at every moment, and none refuses a valid row. In the
// end a replica has the same. If the binlog does not show cascades, the plan refuses.
func TestL6_ForeignKeys(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	servers := mysqltest.OwnAll(t, "9.7", sandbox.Options{Settings: map[string]string{"server_id": "11"}},
		sandbox.Options{Settings: map[string]string{"server_id": "12", "innodb_native_foreign_keys": "ON"}})
	b := on(t, "9.7", servers[0])
	const rows = 8000
	f := b.family(rows)
	want := map[string]string{}
	tables := []string{"t", "c", f.other + ".far"}
	for _, table := range tables {
		want[table] = f.create(table)
	}
	want["t"] = strings.Replace(want["t"], "`v` int NOT NULL DEFAULT '0'", "`v` bigint NOT NULL DEFAULT '0'", 1)
	f.live(f.sow, f.forbid, f.cascade)
	result := b.mustMigrate("MODIFY v BIGINT NOT NULL DEFAULT 0")
	time.Sleep(200 * time.Millisecond)
	f.proved(rows)
	for table, definition := range want {
		if got := f.create(table); got != definition {
			b.Errorf("%s is\n%s\nwant\n%s", table, got, definition)
		}
	}
	if old := f.create("t_old"); strings.Contains(old, "CONSTRAINT") {
		b.Errorf("the old table is\n%s", old)
	}
	b.Logf("lock held %s in %d attempts; %d rows grown, %d refused", result.LockHeld, result.Attempts, f.grown.Load(), f.refused.Load())

	replica := &bench{
		T:       t,
		version: "9.7",
		server:  servers[1],
		address: servers[1].Address,
		db:      servers[1].Open(t, ""),
		schema:  b.schema,
		told:    newTold(),
	}
	replica.replicate(servers[0])
	replica.catchUpWith(b)
	replica.db = servers[1].Open(t, b.schema)
	there := &family{bench: replica, other: f.other}
	for table, definition := range want {
		if got := there.create(table); got != definition {
			b.Errorf("the replica's %s is\n%s\nwant\n%s", table, got, definition)
		}
	}
	for _, query := range []string{"SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(pid), SUM(qid), SUM(up)) FROM t",
		"SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(tid)) FROM c", "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(tid)) FROM " + f.other + ".far"} {
		if here, there := f.value(query), replica.value(query); here != there {
			b.Errorf("%s: %s, and %s on the replica", query, here, there)
		}
	}
	replica.exec("STOP REPLICA", "RESET REPLICA ALL")
	var refused *plan.Refused
	if _, err := replica.migrate(
		b.ctx(),
		"FORCE",
	); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "innodb_native_foreign_keys is ON") {
		b.Errorf("on a server whose binlog does not show cascades: %v", err)
	}
}

// TestL3_CascadesThatTheBinlogDoesNotTell: parents change rows of the table by cascades, and the
// server does not log these changes (as before 9.6). A run that is stopped during that, and
// resumes, misses none of them.
func TestL3_CascadesThatTheBinlogDoesNotTell(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	b := on(t, "9.7", mysqltest.Own(t, "9.7", sandbox.Options{Settings: map[string]string{"innodb_native_foreign_keys": "ON"}}))
	const rows = 8000
	f := b.familyOf(rows, "")
	want := map[string]string{"t": f.create("t"), "c": f.create("c"), f.other + ".far": f.create(f.other + ".far")}
	want["t"] = strings.Replace(want["t"], "`v` int NOT NULL DEFAULT '0'", "`v` bigint NOT NULL DEFAULT '0'", 1)
	b.exec("INSERT INTO q VALUES (5)", "INSERT INTO t (pid, qid) SELECT 1, 5 FROM t LIMIT 10") // cascades delete these rows
	f.live(f.sow, f.forbid, f.cascade, f.replace, f.replace)
	const clauses = "MODIFY v BIGINT NOT NULL DEFAULT 0"
	b.cfg.RowCopy.MaxRows = 500
	c := b.child(clauses, phaseLine(event.PhaseVerify), (*child).kill, slowly...)
	c.wait()
	// The trial of the foreign key to the table itself leaves it (the shadow had none in its first copy).
	if got := b.value("SELECT GROUP_CONCAT(constraint_name) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() AND table_name = 't_shadow'"); got != "t_ibfk_1_midstream" {
		b.Errorf("the shadow has %s", got)
	}
	time.Sleep(300 * time.Millisecond)
	// What a kill in the swap leaves refuses valid rows, and cascades still act.
	f.rest()
	f.stops = nil
	f.live(f.forbid)
	b.killedAt("RENAME TABLE `"+b.schema+"`.`t` TO", clauses)
	b.exec("DELETE FROM q WHERE id = 5")
	f.live(f.replace)
	last := b.child(clauses, "", nil)
	last.mustEnd()
	if !last.heard("resuming an earlier run") {
		b.Error("it began again")
	}
	time.Sleep(200 * time.Millisecond)
	f.proved(rows)
	for table, definition := range want {
		if got := f.create(table); got != definition {
			b.Errorf("%s is\n%s\nwant\n%s", table, got, definition)
		}
	}
	b.Logf("%d rows grown, %d parents replaced", f.grown.Load(), f.replaced.Load())
}

// TestForeignKeysOfRenamedColumns: constraints of several columns, on both ends, whose columns are
// renamed.
func TestForeignKeysOfRenamedColumns(t *testing.T) {
	t.Parallel()
	b := setup(t, "9.7")
	b.exec(
		"CREATE TABLE p (a INT, b VARCHAR(9), PRIMARY KEY (a, b))",
		"CREATE TABLE t (id INT PRIMARY KEY, x INT NOT NULL, y VARCHAR(9) NOT NULL, UNIQUE u (x, y), CONSTRAINT two FOREIGN KEY (x, y) REFERENCES p (a, b) ON UPDATE CASCADE)",
		"CREATE TABLE c (id INT PRIMARY KEY, x INT, y VARCHAR(9), CONSTRAINT cc FOREIGN KEY (x, y) REFERENCES t (x, y) ON DELETE SET NULL)",
		"INSERT INTO p VALUES (1, 'a'), (2, 'b')", "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')",
		"INSERT INTO c VALUES (1, 1, 'a'), (2, NULL, NULL)",
	)
	b.mustMigrate("RENAME COLUMN x TO x2, CHANGE y y2 VARCHAR(9) NOT NULL, ADD COLUMN added INT FIRST")
	f := &family{bench: b}
	for table, constraint := range map[string]string{
		"t": "CONSTRAINT `two` FOREIGN KEY (`x2`, `y2`) REFERENCES `p` (`a`, `b`) ON UPDATE CASCADE\n",
		"c": "KEY `cc` (`x`,`y`),\n  CONSTRAINT `cc` FOREIGN KEY (`x`, `y`) REFERENCES `t` (`x2`, `y2`) ON DELETE SET NULL\n",
	} {
		if got := f.create(table); !strings.Contains(got, constraint) {
			b.Errorf("%s is\n%s", table, got)
		}
	}
	b.exec("UPDATE p SET b = 'z' WHERE a = 2", "DELETE FROM t WHERE id = 1")
	if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, IFNULL(x, '-')) ORDER BY id) FROM c"); got != "1 -,2 -" {
		b.Errorf("the children are %s", got)
	}
	if got := b.value("SELECT y2 FROM t WHERE id = 2"); got != "z" {
		b.Errorf("the row has %s", got)
	}
}

// TestForeignKeyDroppedByTheAlter: a constraint of the table holds up to the swap, and is gone
// afterwards; the others stay.
func TestForeignKeyDroppedByTheAlter(t *testing.T) {
	t.Parallel()
	b := setup(t, "9.7")
	const rows = 1000
	f := b.family(rows)
	c := f.create("c")
	f.live(f.sow, f.cascade)
	b.exec("INSERT INTO p VALUES (7)")
	forbidden := func() {
		conn := b.conn()
		f.do(conn, noParent, "INSERT INTO t (pid, qid) VALUES (3, 1)")
		f.do(conn, hasChild, "DELETE FROM p WHERE id = 2")
	}
	b.mustMigrate(
		"DROP FOREIGN KEY chosen, DROP INDEX chosen, /* the lot */ MODIFY pid VARCHAR(20), DROP CONSTRAINT t_ibfk_2, ADD COLUMN added INT",
		onPhase(event.PhaseCutover, forbidden),
	)
	f.rest()
	if text := f.create(
		"t",
	); strings.Contains(text, "chosen") || strings.Contains(text, "t_ibfk_2") || !strings.Contains(text, "CONSTRAINT `t_ibfk_1`") ||
		!strings.Contains(text, "`pid` varchar(20)") {
		b.Errorf("t is\n%s", text)
	}
	if text := f.create("c"); text != c {
		b.Errorf("c is\n%s", text)
	}
	if old := f.create("t_old"); strings.Contains(old, "CONSTRAINT") {
		b.Errorf("the old table is\n%s", old)
	}
	conn := b.conn()
	f.do(conn, 0, "DELETE FROM p")
	f.do(conn, noParent, "INSERT INTO t (pid, qid) VALUES ('anything', 100)")
	f.do(conn, hasChild, "DELETE FROM t WHERE id = 1")
	if got := b.value("SELECT COUNT(*) FROM t"); got != fmt.Sprint(rows+f.grown.Load()) {
		b.Errorf("%s rows, want %d", got, rows+f.grown.Load())
	}
}

// TestForeignKeyDroppedMeanwhile: a child drops its constraint while the table is copied. The work
// is kept, and the same command resumes it with the remaining constraints.
func TestForeignKeyDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t, "9.7")
	f := b.family(500)
	_, err := b.migrate(
		b.ctx(), "ADD COLUMN added INT",
		onPhase(event.PhaseVerify, func() { b.exec("ALTER TABLE c DROP FOREIGN KEY c_ibfk_1") }),
	)
	var failed *failure.Failure
	if !errors.As(err, &failed) || !failed.Kept || !errors.Is(err, cutover.ErrRelated) ||
		!strings.Contains(err.Error(), f.schema+".t is untouched") {
		b.Errorf("error %v", err)
	}
	if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
		b.Error("it began again")
	}
	if text := f.create("c"); strings.Contains(text, "CONSTRAINT") {
		b.Errorf("c is\n%s", text)
	}
}

// TestL7_ForeignKeysKilled: a run is killed at each kind of statement under its lock, or loses the
// connection that holds the lock. What it leaves still refuses what the constraints forbid, and the
// next command repairs it.
func TestL7_ForeignKeysKilled(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	const rows = 500
	next := map[string]func(f *family){
		"run": func(f *family) { f.child("ADD COLUMN added INT", "", nil).mustEnd() },
		"cleanup": func(f *family) {
			pool, err := f.open(f.ctx())
			if err != nil {
				f.Fatal(err)
			}
			defer pool.Close()
			if _, err := leftovers.Cleanup(
				f.ctx(),
				pool,
				schema.Name{Schema: f.schema, Table: "t"},
				false,
				func([]leftovers.Table) bool { return true },
				func(string) {},
			); err != nil {
				f.Error(err)
			}
		},
	}
	type point struct {
		at, by string // the statement, and what comes after it
		killed bool   // or else the run loses its connection
	}
	for _, c := range halfInTurn(t, []point{
		{"ALTER TABLE `%[1]s`.`t_shadow` ADD CONSTRAINT", "run", true},
		{"ALTER TABLE `%[1]s`.`c` ADD CONSTRAINT", "cleanup", true},
		{"RENAME TABLE `%[1]s`.`t` TO", "run", true},
		{"RENAME TABLE `%[1]s`.`t` TO", "run", false},
		{"ALTER TABLE `%[1]s`.`t_old` DROP FOREIGN KEY", "cleanup", true},
		{"ALTER TABLE `%[1]s`.`c` DROP FOREIGN KEY `c_ibfk_1`", "run", true},
		{"ALTER TABLE `%[2]s`.`far` DROP FOREIGN KEY `midstream", "cleanup", true},
		{"ALTER TABLE `%[2]s`.`far` DROP FOREIGN KEY `midstream", "cleanup", false},
	}) {
		t.Run(fmt.Sprintf("%s, killed %t", c.at, c.killed), func(t *testing.T) {
			b := setup(t, "9.7")
			f := b.family(rows)
			want := map[string]string{"c": f.create("c"), f.other + ".far": f.create(f.other + ".far")}
			f.live(f.forbid)
			at := fmt.Sprintf(c.at, b.schema, f.other)
			if c.killed {
				b.killedAt(
					at, "ADD COLUMN added INT", "--lock-work=3s",
				// A failed attempt would withdraw by similar statements.
				)
				next[c.by](f)
			} else {
				w := b.wire(fault.Rule{At: at, Cut: true})
				b.mustMigrate("ADD COLUMN added INT")
				if !bent(w) {
					b.Error("no connection was lost")
				}
			}
			f.live(f.sow)
			time.Sleep(100 * time.Millisecond)
			f.proved(rows)
			for table, definition := range want {
				if got := f.create(table); got != definition {
					b.Errorf("%s is\n%s\nwant\n%s", table, got, definition)
				}
			}
			if text := f.create(
				"t",
			); strings.Contains(text, "midstream") ||
				strings.Contains(text, "added") != (c.by == "run" || !strings.Contains(at, "ADD CONSTRAINT")) {
				b.Errorf("t is\n%s", text)
			}
			if f.value(
				"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('t_shadow', 't_midstream')",
			) != "0" {
				b.Error("something is left")
			}
		})
	}
}

// TestL6_AWithdrawalOfAStalledServer: after a failed attempt, the server stalls for longer than a
// statement may take, once while the run looks for the shadow's constraints, and once while it
// drops one. The run drops all of them before it releases the lock: no valid row is refused.
func TestL6_AWithdrawalOfAStalledServer(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, at := range []string{"FROM information_schema.referential_constraints", " DROP FOREIGN KEY"} {
		t.Run(at, func(t *testing.T) {
			b := on(t, "9.7", mysqltest.Own(t, "9.7", sandbox.Options{}))
			const rows = 500
			f := b.family(rows)
			failed := b.wire(fault.Rule{At: "RENAME TABLE `" + b.schema + "`", Error: 1205})
			goesOn := make(chan error, 1)
			stalled := fault.New(t, failed.Address, fault.Rule{After: "RENAME TABLE `" + b.schema + "`", At: at, Call: func() {
				err := syscall.Kill(b.server.Sandbox.PID(), syscall.SIGSTOP)
				time.AfterFunc(4*time.Second, func() { goesOn <- errors.Join(err, syscall.Kill(b.server.Sandbox.PID(), syscall.SIGCONT)) })
			}})
			b.address = stalled.Address
			f.live(f.sow, f.forbid)
			b.mustMigrate("ADD COLUMN added INT")
			time.Sleep(100 * time.Millisecond)
			f.proved(rows)
			if !bent(failed) || !bent(stalled) {
				b.Fatal("no attempt failed, or no constraint had to be dropped")
			}
			if err := <-goesOn; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// TestL6_ARenameThatIsWithdrawn: a backup blocks the RENAME for longer than it may wait, and ends
// soon after. The run drops the declared constraints while it still holds the lock: no valid row is
// refused.
func TestL6_ARenameThatIsWithdrawn(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	b := on(t, "9.7", mysqltest.Own(t, "9.7", sandbox.Options{}))
	const rows = 500
	b.hurried()
	f := b.family(rows)
	begin, end := b.backup()
	ended := make(chan struct{})
	w := b.wire(fault.Rule{After: "LOCK TABLES", At: "RENAME TABLE `" + b.schema + "`", Call: func() {
		begin()
		time.AfterFunc(600*time.Millisecond, func() { end(); close(ended) }) // the default budget is 250 ms
	}})
	f.live(f.sow, f.forbid)
	result := b.mustMigrate("ADD COLUMN added INT")
	time.Sleep(100 * time.Millisecond)
	f.proved(rows)
	if !bent(w) || result.Attempts < 2 {
		b.Fatalf("swapped by %d attempts: no RENAME was withdrawn", result.Attempts)
	}
	<-ended
}

// TestL9_ABackupHoldsUpAWithdrawalOnce: a backup that begins under the lock blocks the RENAME, and
// then every statement that drops a constraint. The application waits for the first of them, not
// for each. The run drops them once the backup has ended.
func TestL9_ABackupHoldsUpAWithdrawalOnce(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	b := on(t, "9.7", mysqltest.Own(t, "9.7", sandbox.Options{})) // a backup locks the complete server
	b.numbered(1000)
	const children = 10
	want := map[string]string{}
	for i := range children {
		name := fmt.Sprintf("c%d", i)
		b.exec(
			fmt.Sprintf(
				"CREATE TABLE %[1]s.%[2]s (id INT PRIMARY KEY, tid INT NOT NULL, FOREIGN KEY (tid) REFERENCES %[1]s.t (id))",
				b.schema, name,
			),
			fmt.Sprintf("INSERT INTO %[1]s.%[2]s SELECT id, id FROM %[1]s.t LIMIT 100", b.schema, name),
		)
		want[name] = b.create(b.schema + "." + name)
	}
	b.settings.Lock.Work = 2 * time.Second
	s := b.query(4)
	begin, end := b.backup()
	w := b.wire(fault.Rule{After: "LOCK TABLES", At: "RENAME TABLE `" + b.schema + "`", Call: begin})
	r := b.background(b.ctx(), "ADD COLUMN added INT")
	b.awaited("word of what is not taken back", func(e event.Event) bool {
		n, is := e.(event.Note)
		return is && strings.Contains(n.Text, "retrying. Until it succeeds, valid inserts")
	})
	end()
	r.wait(b)
	if !bent(w) {
		b.Error("no backup began under the lock")
	}
	// The time for the work, and once the time for dropping the constraints.
	s.within(b, 6*time.Second)
	for table, definition := range want {
		if got := b.create(b.schema + "." + table); got != definition {
			b.Errorf("%s is\n%s\nwant\n%s", table, got, definition)
		}
	}
}
