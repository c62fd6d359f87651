package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestL9_DuplicateStops: two rows that would have the same value of a new UNIQUE key end the run,
// whichever way they come. The message names both rows, and what is left.
func TestL9_DuplicateStops(t *testing.T) {
	sideBySide(t)
	causes := map[string]struct {
		before, during string
	}{
		"by copy":              {before: "UPDATE %s.t SET v = id WHERE id <> 70", during: "DO 1"},
		"by change after copy": {before: "UPDATE %s.t SET v = id", during: "UPDATE %s.t SET v = 5 WHERE id = 7"},
		"by insert, in one batch": {
			before: "UPDATE %s.t SET v = id",
			during: "INSERT INTO %s.t VALUES (5001, 5001, NULL), (5002, 5001, NULL)",
		},
	}
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.cfg.NoPrescan = true
				b.numbered(1000)
				b.exec(fmt.Sprintf(c.before, b.schema))
				if name == "by copy" {
					b.exec("UPDATE " + b.schema + ".t SET v = 69 WHERE id = 70")
				}
				before := ""
				_, err := b.migrate(b.ctx(), "ADD UNIQUE KEY v (v)", onPhase(event.PhaseCatchUp, func() {
					if c.during != "DO 1" {
						b.exec(fmt.Sprintf(c.during, b.schema))
					}
					before = b.sums("t")
				}))
				if !errors.Is(err, rowsync.ErrDuplicate) {
					b.Fatalf("error is %v, want a duplicate", err)
				}
				if !strings.Contains(err.Error(), "untouched") {
					b.Errorf("the message does not name what is left: %v", err)
				}
				if before != "" && b.sums("t") != before {
					b.Error("the source was changed")
				}
			})
		})
	}
}

// TestL9_UnseenDuplicateStops: a duplicate also ends the run if the blocking row can't be
// identified by its value.
func TestL9_UnseenDuplicateStops(t *testing.T) {
	sideBySide(t)
	for name, clauses := range map[string]string{
		"other key type":   "MODIFY id VARCHAR(20) NOT NULL, ADD UNIQUE (v)",
		"generated column": "ADD twice INT AS (v * 2) STORED, ADD UNIQUE (twice)",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(1000)
				b.exec("UPDATE " + b.schema + ".t SET v = id")
				_, err := b.migrate(
					b.ctx(), clauses,
					onPhase(event.PhaseCatchUp, func() { b.exec("UPDATE " + b.schema + ".t SET v = 5 WHERE id = 700") }),
				)
				if !errors.Is(err, rowsync.ErrDuplicate) {
					b.Fatalf("error is %v, want a duplicate", err)
				}
			})
		})
	}
}

// TestL9_RowsThatKeepOneValueStop: two rows change, and get the same value of a unique key by which
// the blocking row can't be identified. Each is set aside for the other, but not for ever.
func TestL9_RowsThatKeepOneValueStop(t *testing.T) {
	sideBySide(t)
	for name, clauses := range map[string]string{
		"generated column":              "ADD tenth INT AS (v DIV 10) STORED, ADD UNIQUE (tenth)",
		"virtual column":                "ADD tenth INT AS (v DIV 10), ADD UNIQUE (tenth)",
		"generated, and other key type": "MODIFY id VARCHAR(20) NOT NULL, ADD tenth INT AS (v DIV 10) STORED, ADD UNIQUE (tenth)",
		"converted column":              "MODIFY u VARCHAR(20), MODIFY v VARCHAR(30), ADD UNIQUE (v)",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(100)
				b.exec("UPDATE " + b.schema + ".t SET v = id * 10")
				_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCatchUp, func() {
					b.exec("UPDATE "+b.schema+".t SET v = 5000 WHERE id = 7", "UPDATE "+b.schema+".t SET v = 5000 WHERE id = 8")
				}))
				if !errors.Is(err, rowsync.ErrDuplicate) || !strings.Contains(err.Error(), "(7)") || !strings.Contains(err.Error(), "(8)") {
					b.Fatalf("error is %v, want a duplicate of rows 7 and 8", err)
				}
			})
		})
	}
}

// TestL9_ConvertedDuplicateStops: two values that differ in the source become equal, in separate
// chunks, under a unique key that is new or that existed before.
func TestL9_ConvertedDuplicateStops(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for clauses, column := range map[string]string{
		"MODIFY c INT, ADD UNIQUE (c)": "c VARCHAR(20)", "MODIFY c INT": "c VARCHAR(20) UNIQUE",
		"MODIFY c DATE, ADD UNIQUE (c)": "c VARCHAR(20)", "MODIFY c DECIMAL(10,0)": "c DECIMAL(10,1) UNIQUE",
	} {
		t.Run(clauses+" from "+column, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(1000)
				value, twin := "id", "'05'"
				switch {
				case strings.Contains(clauses, "DATE"):
					value, twin = "'2020-01-01' + INTERVAL id DAY", "'2020-1-6'"
				case strings.Contains(clauses, "DECIMAL"):
					twin = "4.6"
				}
				b.exec("ALTER TABLE "+b.schema+".t ADD "+column, "UPDATE "+b.schema+".t SET c = "+value,
					"UPDATE "+b.schema+".t SET c = "+twin+" WHERE id = 900")
				b.cfg.RowCopy.MaxRows, b.cfg.NoPrescan = 100, true
				_, err := b.migrate(b.ctx(), clauses)
				if !errors.Is(err, rowsync.ErrDuplicate) {
					b.Errorf("error is %v, want a duplicate", err)
				}
			})
		})
	}
}

// TestL3_TwinsForAMomentLoseNothing: a row takes the value of a row that never changes. It gives
// the value back between the query for the blocking row and the query for twins. The other row is
// not stale.
func TestL3_TwinsForAMomentLoseNothing(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		b.exec("UPDATE " + b.schema + ".t SET v = id")
		w := b.wire(fault.Rule{After: "SELECT DISTINCT", At: "HAVING COUNT(*) > 1", Call: func() {
			b.exec("UPDATE " + b.schema + ".t SET v = 7 WHERE id = 7")
		}})
		b.mustMigrate("ADD UNIQUE (v)", onPhase(event.PhaseCatchUp, func() {
			b.exec("UPDATE " + b.schema + ".t SET v = 1500 WHERE id = 7")
			b.awaited("the second thought", func(event.Event) bool { return bent(w) })
		}))
		b.equal()
	})
}

// TestUniqueValuesShift: one statement moves every value of a new unique key to the next row, again
// and again, during the copy and afterwards. The blocking rows are stale, thousands in a row.
func TestUniqueValuesShift(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, clauses := range map[string]string{
		"new key":                 "ADD UNIQUE (v)",
		"new key, other key type": "MODIFY id VARCHAR(20) NOT NULL, ADD UNIQUE (v)",
		"generated column":        "ADD twice INT AS (v * 2) STORED, ADD UNIQUE (twice)",
		"generated, other type":   "MODIFY id BIGINT NOT NULL, ADD twice INT AS (v * 2), ADD UNIQUE (twice)",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(4000)
				b.exec("UPDATE " + b.schema + ".t SET v = id")
				b.cfg.RowCopy.MaxRows = 300
				shift := func() { b.exec("UPDATE " + b.schema + ".t SET v = v + 1") }
				var shifting sync.WaitGroup
				b.mustMigrate(clauses, onPhase(event.PhaseCopy, func() {
					shifting.Go(func() {
						for range 5 {
							shift()
						}
					})
				}), onPhase(event.PhaseCatchUp, func() {
					shifting.Wait()
					shift()
				}))
				b.equal()
				if got := b.value("SELECT SUM(v - id) FROM " + b.schema + ".t"); got != "24000" {
					b.Errorf("values moved by %s in all, want 24000", got)
				}
			})
		})
	}
}

// TestUniqueValueChangesHands: a value moves from a copied row to a row that is not yet copied
// (INSERT IGNORE loses the second row for ever), and is swapped between rows.
func TestUniqueValueChangesHands(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		r, release := b.heldAt(1999) // the second chunk waits
		b.exec("UPDATE "+b.schema+".t SET u = 10001 WHERE id = 1", "UPDATE "+b.schema+".t SET u = 1 WHERE id = 2900",
			"UPDATE "+b.schema+".t SET u = NULL WHERE id = 2", "UPDATE "+b.schema+".t SET u = 2 WHERE id = 3",
			"UPDATE "+b.schema+".t SET u = 3 WHERE id = 2")
		release()
		r.wait(b)
		b.equal()
	})
}
