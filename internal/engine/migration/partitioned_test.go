package migration_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// inYears is PARTITION BY years of a column: more than 32 partitions.
func inYears(column string) string {
	var years []string
	for year := 1990; year < 2030; year++ {
		years = append(years, fmt.Sprintf("PARTITION y%d VALUES LESS THAN (%[1]d)", year))
	}
	return "PARTITION BY RANGE (YEAR(" + column + ")) (" + strings.Join(years, ", ") + ", PARTITION rest VALUES LESS THAN MAXVALUE)"
}

// TestL2_RowsMoveBetweenPartitions: a table gets partitions, and their column becomes a part of its primary key, while each update moves
// a row to another partition. No row stays in the partition that it has left. gh-ost #1540 fails for primary keys of several columns.
func TestL2_RowsMoveBetweenPartitions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	const byVersion = " PARTITION BY HASH (version) PARTITIONS 40"
	for _, c := range []struct {
		name, key, follows string
		profile            ledger.Profile
		partitions         string
		capture            plan.Capture
	}{
		{"by number", "id, version", "id,version", ledger.Int(), byVersion, ""},
		{"by date", "id, changed", "id,changed", ledger.Int(), inYears("changed"), ""},
		{"the column before the key", "version, id", "id,version", ledger.Int(), byVersion, ""},
		{"a column between", "id, changed, version", "id,changed,version", ledger.Int(), byVersion, ""},
		{"few partitions", "id, version", "id", ledger.Int(), " PARTITION BY HASH (version) PARTITIONS 3", ""},
		{"a text as key", "", "", ledger.StringAI(), byVersion, ""},
		{"several columns (gh-ost #1540)", "", "", ledger.Composite(), byVersion, ""},
		{"by triggers", "id, version", "id,version", ledger.Int(), byVersion, plan.CaptureTrigger},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onThese(t, inTurn(t, versions), func(b *bench) {
				profile, has := in(c.profile, b.version)
				if !has { // no such collation
					return
				}
				b.capture, b.cfg.RowCopy.MaxRows, b.settings.Lock.Work = c.capture, 200, 20*time.Second
				if c.key == "" {
					c.key = strings.Join(profile.Key, ", ") + ", version"
					c.follows = strings.ReplaceAll(c.key, " ", "")
				}
				l := b.ledger(profile, 3000, ledger.Options{Rate: 300, Writers: 3})
				clauses := "DROP PRIMARY KEY, ADD PRIMARY KEY (" + c.key + "), DROP KEY code, ADD KEY code (code)" + c.partitions
				_, p := b.planned(clauses)
				if got := strings.Join(p.Key.Columns(), ","); got != c.follows {
					b.Errorf("the run follows (%s), want (%s)", got, c.follows)
				}
				if !slices.ContainsFunc(p.Risks, func(r plan.Risk) bool { return strings.Contains(r.What, "is no longer unique") }) {
					b.Errorf("no warning that the key is no longer unique: %v", p.Risks)
				}
				b.start(l)
				// The ledger's statements rely on a unique id, which the new table does not have.
				b.mustMigrate(clauses, onPhase(event.PhaseCutover, func() { l.Stop() }))
				b.mustMatchLedger(l)
			})
		})
	}
}

// intoPartitions partitions a table by a column that each update changes.
const intoPartitions = "DROP PRIMARY KEY, ADD PRIMARY KEY (id, v) PARTITION BY HASH (v) PARTITIONS 40"

// twins makes t and a table twin with the same rows, and writes the same to both until stop is called: no statement relies on the key of t.
// equal compares them.
func (b *bench) twins(rows int) (stop, equal func()) {
	b.Helper()
	b.numbered(rows)
	b.exec("ALTER TABLE t DROP COLUMN u", "CREATE TABLE twin LIKE t", "INSERT INTO twin SELECT * FROM t")
	const writers = 3
	end, ended := make(chan struct{}), make(chan error, writers)
	for w := range writers {
		f := b.feeder()
		go func() { ended <- f.twice(end, w, writers, rows) }()
	}
	stop = sync.OnceFunc(func() {
		close(end)
		for range writers {
			if err := <-ended; err != nil {
				b.Error(err)
			}
		}
	})
	b.Cleanup(stop)
	return stop, func() {
		b.Helper()
		sums := func(table string) string {
			return b.value("SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT id), SUM(CRC32(CONCAT_WS('/', id, v)))) FROM " + table)
		}
		if got, want := sums("t"), sums("twin"); got != want {
			b.Errorf("rows, ids and checksum are %s, want %s", got, want)
		}
	}
}

// twice is one writer of twins. Each has keys of its own.
func (f feeder) twice(end chan struct{}, w, writers, rows int) error {
	for n := 0; ; n++ {
		select {
		case <-end:
			return nil
		default:
		}
		id, fresh := n*17*writers%rows+w+1, (n+rows)*writers+w
		statements := []string{"BEGIN"}
		for _, s := range []string{
			fmt.Sprintf("UPDATE %%s SET v = v + %d WHERE id = %d", n%50+1, id),
			fmt.Sprintf("INSERT INTO %%s (id, v) VALUES (%d, %d)", fresh, n),
			fmt.Sprintf("UPDATE %%s SET v = v + 1, id = -id WHERE id = %d", fresh-5*writers),
			fmt.Sprintf("DELETE FROM %%s WHERE id = %d", -(fresh - 9*writers)),
		} {
			statements = append(statements, fmt.Sprintf(s, "t"), fmt.Sprintf(s, "twin"))
		}
		for _, s := range append(statements, "COMMIT") {
			_, err := f.ExecContext(f.ctx(), s)
			if err != nil && dbconn.Contended(err) {
				_, err = f.ExecContext(f.ctx(), "ROLLBACK")
				if err == nil {
					break
				}
			}
			if err != nil {
				return err
			}
		}
		rest(2 * time.Millisecond)
	}
}

// TestL5_RowsMoveBetweenPartitionsWhileARunIsStopped: a run that was killed continues its copy, with the rows that have moved since.
func TestL5_RowsMoveBetweenPartitionsWhileARunIsStopped(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		stop, equal := b.twins(9990)
		flags := append([]string{"--lock-work=20s"}, slowly...)
		if code, last := b.child(intoPartitions, `"phase":"copy","elapsed_ms"`, (*child).kill, append(flags, "--copy-share=2%")...).wait(); code != -1 {
			b.Fatalf("the run was not killed: exit code %d: %s", code, last)
		}
		time.Sleep(time.Second)
		c := b.child(intoPartitions, "", nil, flags...)
		c.mustEnd()
		stop()
		if text := strings.Join(c.said, "\n"); !strings.Contains(text, `"event":"resumed"`) {
			c.log("")
			b.Error("the run did not resume")
		}
		equal()
	})
}

// TestU1_RowsMoveBetweenPartitions: the undo of such a change, and its redo, lose no write.
func TestU1_RowsMoveBetweenPartitions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, flag := range []string{"", "--cold"} {
		t.Run("undo"+flag, func(t *testing.T) {
			onTwo(t, func(b *bench) {
				stop, equal := b.twins(999)
				flags := append(strings.Fields(flag), "--lock-work=20s")
				b.child(intoPartitions, "", nil, "--undo=1h", "--lock-work=20s").mustEnd()
				for range 3 {
					time.Sleep(500 * time.Millisecond)
					b.undoing(flags...).mustEnd()
				}
				stop()
				equal()
				b.undoing("--end").mustEnd()
			})
		})
	}
}
