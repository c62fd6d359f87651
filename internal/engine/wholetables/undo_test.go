package wholetables_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
)

// TestU4_UndoOfADrop: the table comes back with its rows, comment, foreign keys, triggers and indexes, and a second
// undo drops it again.
func TestU4_UndoOfADrop(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
			`CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, p INT, q INT, UNIQUE (q), CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE,
				CONSTRAINT fs FOREIGN KEY (q) REFERENCES c (id), FOREIGN KEY (p) REFERENCES p (id)) COMMENT 'its; it was: own'`,
			"INSERT INTO c (p) VALUES (1), (2)", "UPDATE c SET q = 3 - id", "CREATE TRIGGER g BEFORE INSERT ON c FOR EACH ROW SET NEW.q = NULL")
		state := r.state()
		for range 2 {
			before := r.create("c")
			if r.text("SELECT COUNT(*) FROM c") == "0" {
				r.Fatal("no rows")
			}
			if r.text("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'c_undo'") == "0" {
				r.must(r.run(r.Context(), "DROP TABLE c"))
			} else {
				r.must(r.undo(r.Context(), "c", false)) // the redo
			}
			if got := r.state(); got != "c_old 2, c_undo 3, p 2" {
				r.Fatal(got)
			}
			r.must(r.undo(r.Context(), "c", false))
			if got := r.create("c"); got != before {
				r.Errorf("the table was\n%s, and is\n%s", before, got)
			}
			if got := strings.Replace(r.state(), ", c_undo 3", "", 1); got != state {
				r.Errorf("%s, want %s", got, state)
			}
			if got := r.text("SELECT GROUP_CONCAT(trigger_name, event_object_table) FROM information_schema.triggers WHERE trigger_schema = DATABASE()"); got != "gc" {
				r.Error(got)
			}
			if _, err := r.db.Exec("INSERT INTO c (p) VALUES (9)"); err == nil {
				r.Error("a row without a parent is accepted")
			}
		}
		r.exec("DROP TABLE c_undo")
	})
}

// TestU4_UndoOfARename: tables that exchanged their names, and a table that others refer to.
func TestU4_UndoOfARename(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE u (id INT PRIMARY KEY)",
			"CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))")
		before := r.create("t") + r.create("u") + r.create("c")
		for range 2 {
			if _, err := r.undo(r.Context(), "t", false); err != nil { // the first time there is nothing to undo
				r.must(r.run(r.Context(), "RENAME TABLE t TO n, u TO t, n TO u"))
			}
			if got := r.state(); got != "c 0, t 0, t_undo 3, u 2" {
				r.Fatal(got)
			}
			r.must(r.undo(r.Context(), "t", false))
			if got := r.create("t") + r.create("u") + r.create("c"); got != before {
				r.Errorf("the tables were\n%s, and are\n%s", before, got)
			}
		}
		r.exec("DROP TABLE t_undo, c")
	})
}

// TestU4_UndoOfATruncate: the rows come back, and the new table goes.
func TestU4_UndoOfATruncate(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) COMMENT 'own'", "INSERT INTO t (v) VALUES (1), (2)")
		before := r.create("t")
		for range 2 {
			if _, err := r.undo(r.Context(), "t", false); err != nil {
				r.must(r.run(r.Context(), "TRUNCATE t"))
			}
			if got := r.state(); got != "t 0, t_old 2, t_undo 3" {
				r.Fatal(got)
			}
			r.must(r.undo(r.Context(), "t", false))
			if got := r.state(); got != "t 2, t_undo 3" {
				r.Fatal(got)
			}
			if got := r.create("t"); got != before {
				r.Errorf("the table was\n%s, and is\n%s", before, got)
			}
		}
		r.exec("DROP TABLE t_undo")
	})
}

// TestU4_UndoThatIsRefused: what has happened since makes the undo impossible. It is refused, with the reason, and nothing is written.
func TestU4_UndoThatIsRefused(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, c := range []struct{ before, statement, table, since, want, undo string }{
			{"", "DROP TABLE t", "t", "CREATE TABLE t (id INT PRIMARY KEY)", "t exists", "DROP TABLE t"},
			{"", "RENAME TABLE t TO n", "t", "CREATE TABLE t (id INT PRIMARY KEY)", "t exists", "DROP TABLE t"},
			{"", "RENAME TABLE t TO n", "t", "RENAME TABLE n TO m", "no such table", "RENAME TABLE m TO n"},
			{"", "TRUNCATE t", "t", "INSERT INTO t VALUES (7, 7)", "1 row", "DELETE FROM t"},
			{"", "TRUNCATE t", "t", "ALTER TABLE t ADD x INT", "was altered since the TRUNCATE", "ALTER TABLE t DROP x"},
			{
				"CREATE TABLE c (id INT PRIMARY KEY, CONSTRAINT f FOREIGN KEY (id) REFERENCES t (id)); INSERT INTO c VALUES (1)", "DROP TABLE c", "c",
				"DELETE FROM t WHERE id = 1", "1 row without a parent in", "INSERT INTO t VALUES (1, 1)",
			},
			{
				"CREATE TABLE c (id INT PRIMARY KEY, CONSTRAINT f FOREIGN KEY (id) REFERENCES t (id))", "DROP TABLE c", "c",
				"CREATE TABLE d (id INT PRIMARY KEY, CONSTRAINT f FOREIGN KEY (id) REFERENCES t (id))", "another table has a foreign key of the name f", "DROP TABLE d",
			},
		} {
			r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
			for _, s := range strings.Split(c.before, "; ") {
				if s != "" {
					r.exec(s)
				}
			}
			state := r.state()
			r.must(r.run(r.Context(), c.statement))
			r.exec(c.since)
			since := r.state()
			if _, err := r.undo(r.Context(), c.table, false); err == nil || !strings.Contains(err.Error(), c.want) {
				r.Errorf("%s; %s: %v", c.statement, c.since, err)
			} else if strings.Contains(c.want, "without a parent") && !errors.Is(err, failure.ErrUnfit) {
				r.Errorf("%s: %v", c.statement, err)
			}
			var failed *failure.Failure
			if _, err := r.undo(r.Context(), c.table, false); errors.As(err, &failed) && !strings.Contains(failed.Left, "still open") {
				r.Errorf("%s; %s: left: %s", c.statement, c.since, failed.Left)
			}
			if got := r.state(); got != since {
				r.Errorf("%s; %s: %s, want %s", c.statement, c.since, got, since)
			}
			r.exec(c.undo)
			r.must(r.undo(r.Context(), c.table, false))
			if got := strings.Replace(r.state(), ", "+c.table+"_undo 3", "", 1); got != state {
				r.Errorf("%s: %s, want %s", c.statement, got, state)
			}
			r.exec("DROP TABLE IF EXISTS c", "DROP TABLE t, "+c.table+"_undo")
		}
	})
}

// TestU4_TheUndoOfADropSeesTablesThatReferToIt: while a table is dropped, another one gets a foreign key to it, without a look at
// the rows. The undo is refused, before it changes anything, until each of its rows has a parent in the table that comes back.
func TestU4_TheUndoOfADropSeesTablesThatReferToIt(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE k (id INT PRIMARY KEY)", "INSERT INTO k VALUES (2), (3)")
		r.must(r.run(r.Context(), "DROP TABLE t"))
		r.db.SetMaxOpenConns(1)
		r.exec("SET foreign_key_checks = 0", "ALTER TABLE k ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES t (id)", "SET foreign_key_checks = 1")
		before := r.state() + r.create("k")
		if _, err := r.undo(r.Context(), "t", false); !errors.Is(err, failure.ErrUnfit) || !strings.Contains(err.Error(), "k without a parent in") {
			r.Errorf("with a row without a parent: %v", err)
		}
		if got := r.state() + r.create("k"); got != before {
			r.Errorf("%s, want %s", got, before)
		}
		r.exec("DELETE FROM k WHERE id = 3")
		r.must(r.undo(r.Context(), "t", false))
		if _, err := r.db.Exec("INSERT INTO k VALUES (4)"); err == nil {
			r.Error("a row without a parent is accepted")
		}
		r.exec("DROP TABLE k", "DROP TABLE t, t_undo")
	})
}

// TestTheWayOutOfTooLittleTimeUnderTheLockIsNamed: the undo of a TRUNCATE needs more time under the lock than --lock-work allows, to
// compare the rows that were written since, or for anything else. The cause and the advice name --lock-work, and nothing is changed.
func TestTheWayOutOfTooLittleTimeUnderTheLockIsNamed(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		hasty := settings()
		hasty.Lock.Work, hasty.Attempts = time.Microsecond, 2
		for _, both := range []bool{false, true} {
			if both {
				r.exec("INSERT INTO t VALUES (2), (3)")
			}
			before := r.state()
			_, err := r.backWith(r.Context(), "t", hasty, plan.TableOptions{Merge: both, Park: both})
			var f *failure.Failure
			if !errors.As(err, &f) || !strings.Contains(f.Err.Error(), "--lock-work") || !strings.Contains(f.Next, "--lock-work=2s; then run the same command again") {
				r.Errorf("%v: %+v", both, err)
			} else if strings.Contains(f.Err.Error(), "another session") {
				r.Errorf("no session blocked it: %v", f.Err)
			}
			if got := r.state(); got != before {
				r.Errorf("%s, want %s", got, before)
			}
		}
		r.must(r.back(r.Context(), "t", plan.TableOptions{Merge: true, Park: true}))
		if got := r.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM t"); got != "1,2,3" {
			r.Error(got)
		}
		r.exec("DROP TABLE t_parked, t_undo")
	})
}

// TestU3_AFailedUndoIsOnlyOpenIfItIs: another session alters the table just before the undo of its TRUNCATE has the lock. What is left
// is not told as open, because the next undo would be refused too.
func TestU3_AFailedUndoIsOnlyOpenIfItIs(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		proxy := fault.New(r, r.server.Address, fault.Rule{At: "LOCK TABLES", Call: func() { r.exec("ALTER TABLE t ADD COLUMN x INT") }})
		defer proxy.Close()
		r.address = proxy.Address
		_, err := r.undo(r.Context(), "t", false)
		r.address = r.server.Address
		var f *failure.Failure
		if !errors.As(err, &f) || strings.Contains(f.Left, "still open") || !strings.Contains(f.Left, "the undo is refused until this is changed: ") ||
			!strings.Contains(f.Left, "t was altered since the TRUNCATE") {
			r.Errorf("%+v", err)
		}
		r.exec("ALTER TABLE t DROP COLUMN x")
		r.must(r.undo(r.Context(), "t", false))
		r.exec("DROP TABLE t_undo")
	})
}
