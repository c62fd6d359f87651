package migration_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/mysql/schema"
)

// TestL6_WhatNamesTheTable: a view, a procedure, a function, an event, another table's trigger and
// an account with privileges on columns write to the table while it is swapped, and continue
// afterwards. Nothing is written twice, or to the old table.
func TestL6_WhatNamesTheTable(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.7", "5.7"} {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			b := setup(t, version)
			d := b.dependents()
			writing := b.write(d...)
			time.Sleep(200 * time.Millisecond)
			result := b.mustMigrate("ADD COLUMN added INT NOT NULL DEFAULT 7 FIRST, MODIFY n BIGINT")
			after := b.value("SELECT MAX(id) FROM t")
			for began := time.Now(); b.value("SELECT COUNT(*) FROM t WHERE who = 'event' AND id > "+after) == "0"; time.Sleep(50 * time.Millisecond) {
				if time.Since(began) > 5*time.Second {
					b.Fatal("the event does nothing any more")
				}
			}
			for who, n := range writing.stop() {
				if got := b.value("SELECT COUNT(*) FROM t WHERE who = '" + who + "'"); got != fmt.Sprint(n) || n < 10 {
					b.Errorf("%s wrote %d rows, and %s exist", who, n, got)
				}
			}
			if got := b.value("SELECT COUNT(*) FROM seen WHERE id > " + after); got == "0" {
				b.Error("the view shows nothing new")
			}
			b.Logf("lock held %s", result.LockHeld)
		})
	}
}

// dependents creates objects that name table t, and returns who writes through which.
func (b *bench) dependents() (by [][2]string) {
	b.Helper()
	user := b.someone()
	b.exec(
		"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, who VARCHAR(20) NOT NULL, n INT)",
		"CREATE TABLE k (id INT PRIMARY KEY AUTO_INCREMENT)",
		"INSERT INTO t (who) VALUES ('nobody')",
		"CREATE VIEW seen AS SELECT id, who FROM t WHERE n IS NULL",
		"CREATE PROCEDURE put() BEGIN DECLARE last INT; SELECT MAX(n) INTO last FROM t WHERE id < 10; INSERT INTO t (who) VALUES ('procedure'); END",
		"CREATE FUNCTION fput() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO t (who) VALUES ('function'); RETURN 1; END",
		"CREATE TRIGGER of_another AFTER INSERT ON k FOR EACH ROW INSERT INTO t (who) VALUES ('trigger')",
		"CREATE EVENT tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO t (who) VALUES ('event')",
		// It stays ON: other tests of this server have events too.
		"SET GLOBAL event_scheduler = ON",
		"CREATE USER "+user,
		"GRANT SELECT (id, who), INSERT (who) ON t TO "+user,
	)
	b.Cleanup(func() {
		b.db.Exec("DROP EVENT tick")
		b.db.Exec("DROP USER " + user)
	})
	return [][2]string{
		{"view", "INSERT INTO seen (who) VALUES ('view')"},
		{"procedure", "CALL put()"},
		{"function", "DO fput()"},
		{"trigger", "INSERT INTO k () VALUES ()"},
		{"account", "INSERT INTO t (who) VALUES ('account')"},
	}
}

// writing counts the rows that each writer wrote.
type writing struct {
	mu    sync.Mutex
	count map[string]int
	halt  chan struct{}
	done  sync.WaitGroup
}

func (w *writing) stop() map[string]int {
	close(w.halt)
	w.done.Wait()
	return w.count
}

// write makes each writer write continuously.
func (b *bench) write(by ...[2]string) *writing {
	b.Helper()
	w := &writing{count: map[string]int{}, halt: make(chan struct{})}
	for _, one := range by {
		db := b.db
		if one[0] == "account" {
			db = b.as(b.someone())
		}
		w.done.Go(func() {
			for {
				select {
				case <-w.halt:
					return
				default:
				}
				rest(time.Millisecond)
				if _, err := db.Exec(one[1]); err != nil {
					b.Errorf("%s: %v", one[1], err)
					return
				}
				w.mu.Lock()
				w.count[one[0]]++
				w.mu.Unlock()
			}
		})
	}
	return w
}

// someone is an account of this test's.
func (b *bench) someone() string { return "u_" + b.schema[len(b.schema)-8:] }

// as connects another account.
func (b *bench) as(user string) *sql.DB {
	b.Helper()
	db, err := sql.Open("mysql", user+"@tcp("+b.server.Address+")/"+b.schema)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// TestPlanListsDependents: on each server the plan names the objects that a column's new name
// breaks.
func TestPlanListsDependents(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.dependents()
		found, err := facts.GatherDependents(b.ctx(), b.db, schema.Name{Schema: b.schema, Table: "t"})
		if err != nil {
			b.Fatal(err)
		}
		var names []string
		for _, d := range found.All {
			if d.Name.Schema == b.schema {
				names = append(names, strings.ReplaceAll(d.String()+" "+d.Table, b.schema+".", ""))
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, ","); got != "event tick ,function fput ,procedure put ,trigger of_another k,view seen " {
			b.Errorf("found %s", got)
		}
		if len(found.Grants) != 3 || len(found.Hidden) != 0 {
			b.Errorf("found %+v, hidden %v", found.Grants, found.Hidden)
		}
	})
}
