package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
)

// faults are what may go wrong with one row of the shadow without the run's knowledge; %[1]s is the
// shadow and %[2]d the row's key.
var faults = []string{
	"UPDATE %[1]s SET v = v + 1 WHERE id = %[2]d",
	"UPDATE %[1]s SET added = 7 WHERE id = %[2]d",
	"DELETE FROM %[1]s WHERE id = %[2]d",
	"INSERT INTO %[1]s (id, v, u) VALUES (%[2]d + 1000000, 0, %[2]d + 1000000)",
	"UPDATE %[1]s SET id = id + 1000000 WHERE id = %[2]d",
}

// TestL6_SeededFaultIsFound: one wrong row of the shadow ends the run before the swap. The run
// names its key, and the table is unchanged: 100 times of 100, half of them on each version.
func TestL6_SeededFaultIsFound(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		random := b.random()
		for n := range 100 / len(versions) {
			key, fault := 1+random.IntN(2000), faults[n%len(faults)]
			broken := false
			_, err := b.migrate(b.ctx(), "ADD COLUMN added INT DEFAULT 5, MODIFY v BIGINT", onPhase(event.PhaseCatchUp, func() {
				if !broken {
					b.exec(fmt.Sprintf(fault, b.schema+".t_shadow", key))
				}
				broken = true
			}))
			if !errors.Is(err, failure.ErrMismatch) || !strings.Contains(err.Error(), fmt.Sprint(key)) {
				b.Fatalf("%s, row %d: %v", fault, key, err)
			}
		}
	})
}

// TestL6_RepairedIsProvenAgain: with Repair, a row that differs is synced again and counted, and
// the run swaps.
func TestL6_RepairedIsProvenAgain(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		b.cfg.Repair = true
		broken := false
		result := b.mustMigrate("ADD COLUMN added INT DEFAULT 5", onPhase(event.PhaseCatchUp, func() {
			for i, fault := range faults {
				if !broken {
					b.exec(fmt.Sprintf(fault, b.schema+".t_shadow", 100+i))
				}
			}
			broken = true
		}))
		b.equal()
		if result.Repaired != 6 { // the move counts at both places
			b.Errorf("%d rows were repaired, want 6", result.Repaired)
		}
	})
}

// TestL6_ConvertedValuesAreCompared: a fault in a column that the ALTER converts is found, even if
// the ALTER changes the key itself.
func TestL6_ConvertedValuesAreCompared(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (k VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, d DECIMAL(10,4), f FLOAT)",
			"INSERT INTO "+b.schema+".t VALUES ('ä', 1.2345, 0.1), ('b', 2, -0e0), ('c', NULL, NULL)")
		for _, clauses := range []string{"MODIFY d DECIMAL(10,2)", "MODIFY k VARCHAR(20) CHARACTER SET utf8mb4", "MODIFY f DECIMAL(10,5)"} {
			_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCatchUp, func() {
				b.exec("UPDATE " + b.schema + ".t_shadow SET d = 1.24 WHERE d < 2")
			}))
			if !errors.Is(err, failure.ErrMismatch) || !strings.Contains(err.Error(), "column d") ||
				!strings.Contains(err.Error(), "1.24") {
				b.Errorf("%s: %v", clauses, err)
			}
		}
		b.mustMigrate("MODIFY d DECIMAL(10,2), MODIFY k VARCHAR(20) CHARACTER SET utf8mb4")
	})
}

// TestL6_DefaultThatNamesAnotherColumn: such a default does not prevent the comparison of converted
// values.
func TestL6_DefaultThatNamesAnotherColumn(t *testing.T) {
	b := setup(t, "9.7") // 8.0.12 has no such defaults
	b.exec(
		"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY DEFAULT (ABS(-7)), a INT NOT NULL, b VARCHAR(20) DEFAULT (a + 1), d DECIMAL(10,4))",
		"INSERT INTO "+b.schema+".t (id, a, d) VALUES (1, 5, 1.2345)",
	)
	b.mustMigrate("MODIFY d DECIMAL(10,2), MODIFY b VARCHAR(30) CHARACTER SET latin1 DEFAULT (a + 2)")
}

// TestL6_SurplusRowIsFound: a surplus row is found if the ALTER changes the key's type, while other
// rows change.
func TestL6_SurplusRowIsFound(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		changes := func() {
			b.exec("DELETE FROM "+b.schema+".t WHERE id <= 10", "INSERT INTO "+b.schema+".t VALUES (3001, 1, NULL), (3002, 1, NULL)",
				"UPDATE "+b.schema+".t SET id = id + 5000 WHERE id BETWEEN 20 AND 30")
		}
		_, err := b.migrate(b.ctx(), "MODIFY id VARCHAR(20) NOT NULL", onPhase(event.PhaseVerify, func() {
			b.exec("INSERT INTO " + b.schema + ".t_shadow VALUES ('x', 1, NULL)")
			changes()
		}))
		if !errors.Is(err, failure.ErrMismatch) || !strings.Contains(err.Error(), "1 rows more") {
			b.Errorf("error is %v", err)
		}
		b.exec("DELETE FROM " + b.schema + ".t WHERE id > 3000")
		b.mustMigrate("MODIFY id VARCHAR(20) NOT NULL", onPhase(event.PhaseVerify, changes))
	})
}

// TestL6_HotRowsDoNotHoldUpTheSwap: a row that changes all the time can't be compared while it
// changes. It is compared under the lock; if it is wrong, the swap does not happen.
func TestL6_HotRowsDoNotHoldUpTheSwap(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					b.db.Exec("UPDATE " + b.schema + ".t SET v = v + 1 WHERE id <= 20")
					rest(0)
				}
			}
		}()
		b.mustMigrate("ADD COLUMN added INT DEFAULT 5")
		close(stop)
		<-done
	})
}

// TestL6_AYearIsCompared: the only row of a table has a YEAR as its key, comes during the row copy, and is
// compared by its key.
func TestL6_AYearIsCompared(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE " + b.schema + ".t (id YEAR NOT NULL, v INT, PRIMARY KEY (id))")
		var once sync.Once
		b.mustMigrate("DROP COLUMN v", func(e event.Event) {
			if _, is := e.(event.ChunkCopied); is {
				once.Do(func() { b.exec("INSERT INTO " + b.schema + ".t (id) VALUES (2020)") })
			}
		})
		if got := b.value("SELECT GROUP_CONCAT(id) FROM " + b.schema + ".t"); got != "2020" {
			b.Errorf("the table has %s", got)
		}
	})
}
