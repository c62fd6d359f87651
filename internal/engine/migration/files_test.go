package migration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// inPartitions makes table t with a few rows in each of many files.
func (b *bench) inPartitions(partitioning string) {
	b.Helper()
	b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT, KEY (v)) "+partitioning,
		"INSERT INTO "+b.schema+".t VALUES (1, 1)")
	for n := 1; n < 500; n *= 2 {
		b.exec(fmt.Sprintf("INSERT INTO %s.t SELECT id + %d, v FROM %[1]s.t", b.schema, n))
	}
}

// manyFiles are tables whose swap renames 240 files and more.
func manyFiles() map[string]string {
	var ranges []string
	for n := range 120 {
		ranges = append(ranges, fmt.Sprintf("PARTITION p%d VALUES LESS THAN (%d)", n, n*10+10))
	}
	return map[string]string{
		"partitions": "PARTITION BY RANGE (id) (" + strings.Join(ranges, ", ") + ")",
		"subpartitions": "PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 40 (" + strings.Join(
			ranges[:2], ", ",
		) + ", PARTITION rest VALUES LESS THAN MAXVALUE)",
	}
}

// TestL9_ASwapOfManyFilesIsRefusedByThePlan: no server interrupts a RENAME, which takes some
// milliseconds for each file under load. The plan refuses a swap that takes longer than
// --lock-work, before anything is written, and makes it if --lock-work allows it.
func TestL9_ASwapOfManyFilesIsRefusedByThePlan(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, partitioning := range manyFiles() {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.inPartitions(partitioning)
				code, last := b.child("MODIFY v BIGINT", "", nil, "--lock-work=10ms").wait()
				if code != 11 || !strings.Contains(last, `"code":"swap"`) || !strings.Contains(last, "240 files") {
					b.Fatalf("exit code %d: %s", code, last)
				}
				b.hasTables("t")
				b.child("MODIFY v BIGINT", "", nil, "--lock-work=30s").mustEnd()
				b.hasTables("t,t_old")
				if new, old := b.filed("t"), b.filed("t_old"); new != old {
					b.Errorf("rows and checksum are %s, of the old table %s", new, old)
				}
			})
		})
	}
}

// filed describes the rows of a table.
func (b *bench) filed(table string) string {
	return b.value(fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS('/', id, v)))) FROM %s.%s", b.schema, table))
}

// TestL9_AnAlterThatMakesManyFilesIsRefusedByThePlan: the files of the new table count too.
func TestL9_AnAlterThatMakesManyFilesIsRefusedByThePlan(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.inPartitions("")
		code, last := b.child("PARTITION BY HASH (id) PARTITIONS 150", "", nil, "--lock-work=10ms").wait()
		if code != 11 || !strings.Contains(last, "151 files") {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.hasTables("t")
	})
}

// TestNoQueryWaitsForASwapOfManyFiles: the server has become slower since the plan was made, so
// that the swap would take longer than the work under the lock may. The run does not begin the
// swap, no query waits, and the work is kept.
func TestNoQueryWaitsForASwapOfManyFiles(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		b.inPartitions(manyFiles()["partitions"])
		b.settings.Lock.Work, b.settings.Attempts = 15*time.Millisecond, 3
		s := b.query(4)
		var granted bool
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", func(e event.Event) {
			if a, is := e.(event.LockAttempt); is {
				granted = granted || a.Granted
			}
		})
		var failed *failure.Failure
		if !errors.As(err, &failed) || !errors.Is(err, failure.ErrGaveUp) || !failed.Kept {
			b.Fatalf("the error is %v", err)
		}
		if granted {
			b.Error("the lock was asked for")
		}
		s.within(b, 250*time.Millisecond)
		b.settings.Lock.Work, b.settings.Attempts = 30*time.Second, 0
		if _, err := b.migrate(context.Background(), "ADD COLUMN added INT"); err != nil {
			b.Fatal(err)
		}
		b.hasTables("beside,t,t_old")
	})
}

// TestNoQueryWaitsForNamesOfConstraints: the server is slow when the first constraint gets its name
// after the swap. The other constraints and the triggers get their names after the lock, so that
// queries don't wait for each of them. No row is without them, and no valid row is refused.
func TestNoQueryWaitsForNamesOfConstraints(t *testing.T) {
	b := setup(t, "9.7")
	b.hurried()
	const rows = 500
	f := b.family(rows)
	b.exec(
		"CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, id INT)",
		"CREATE TRIGGER audits AFTER UPDATE ON t FOR EACH ROW INSERT INTO audit (id) VALUES (NEW.id)",
	)
	w := b.wire(fault.Rule{After: "RENAME TABLE `" + b.schema, At: "ADD CONSTRAINT `chosen`", Delay: 700 * time.Millisecond})
	f.live(f.sow, f.forbid)
	var later bool
	result := b.mustMigrate("ADD COLUMN added INT", func(e event.Event) {
		n, is := e.(event.Note)
		later = later || is && strings.Contains(n.Text, "did not get their final form under the lock")
	})
	f.rest()
	if !bent(w) || !later {
		t.Errorf("all names were given under the lock, which was held for %s", result.LockHeld)
	}
	f.proved(rows)
	if got := b.value(
		"SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
	); got != "audits" {
		t.Errorf("the triggers are %s", got)
	}
	if got := b.value(
		"SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_name LIKE 'midstream%' AND constraint_schema = DATABASE()",
	); got != "0" {
		t.Errorf("%s constraints have names of ours", got)
	}
}
