package migration_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// undo takes back the last change of table t.
func (b *bench) undo(ctx context.Context, how planning.Undo, listeners ...event.Listener) (migration.Result, error) {
	b.Helper()
	return b.undoMapped(ctx, how, nil, listeners...)
}

// undoMapped is undo with --map: the column of the table and the former one.
func (b *bench) undoMapped(
	ctx context.Context, how planning.Undo, says map[string]string, listeners ...event.Listener,
) (migration.Result, error) {
	b.Helper()
	pool, err := b.open(ctx)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	name := schema.Name{Schema: b.schema, Table: "t"}
	server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
	options := planning.Options{Undo: &how, Plan: plan.Options{Map: says}, Config: b.cfg, Settings: b.settings, FactsOnly: true}
	p, err := planning.Make(b.ctx(), server, &ddl.Alter{Table: name}, options)
	if err != nil {
		return migration.Result{}, err
	}
	return migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), event.Tee(append(listeners, b.told.listen)...)).Run(ctx)
}

// mustUndo is undo for tests that expect it to succeed.
func (b *bench) mustUndo(how planning.Undo, listeners ...event.Listener) migration.Result {
	b.Helper()
	result, err := b.undo(b.ctx(), how, listeners...)
	if err != nil {
		b.Fatalf("undo: %v", err)
	}
	return result
}

// TestU1_NoWriteIsLostByUndoAndRedo: writers work through a change, its undo and the redo.
func TestU1_NoWriteIsLostByUndoAndRedo(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			l := b.ledger(ledger.Int(), 5000, ledger.Options{})
			b.cfg.RowCopy.MaxRows = 500
			b.cfg.Undo = time.Hour
			before := b.value("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns" +
				" WHERE table_schema = '" + b.schema + "' AND table_name = 't'")
			b.start(l)
			b.mustMigrate(alter)
			for _, added := range []string{"", ",added"} {
				time.Sleep(300 * time.Millisecond)
				b.mustUndo(planning.Undo{Cold: cold})
				if now := b.value("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns" +
					" WHERE table_schema = '" + b.schema + "' AND table_name = 't'"); now != before+added {
					b.Errorf("columns are %s, and were %s", now, before+added)
				}
			}
			b.mustMatchLedger(l)
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_old", "DROP TABLE IF EXISTS "+b.schema+".t_undo")
		}
	})
}

// TestU5_ValuesOfDroppedColumnsComeBack: rows are deleted, inserted again, and change their keys after a change that has
// dropped columns.
func TestU5_ValuesOfDroppedColumnsComeBack(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT NOT NULL, note VARCHAR(20) NOT NULL, at DATETIME NULL, v INT, UNIQUE (u))",
				"INSERT INTO "+b.schema+".t VALUES (1, 1, 'one', '2020-01-01', 1), (2, 2, 'two', NULL, 2), (3, 3, 'three', '2020-01-03', 3),"+
					" (4, 4, 'four', NULL, 4), (5, 5, 'five', NULL, 5)")
			b.cfg.Undo = time.Hour
			b.mustMigrate("DROP COLUMN note, DROP COLUMN at, MODIFY v BIGINT")
			b.exec("UPDATE "+b.schema+".t SET v = 20 WHERE id = 2",
				"DELETE FROM "+b.schema+".t WHERE id = 3", "INSERT INTO "+b.schema+".t VALUES (3, 3, 30)",
				"UPDATE "+b.schema+".t SET u = 40 WHERE id = 4", "UPDATE "+b.schema+".t SET u = 4 WHERE id = 5",
				"DELETE FROM "+b.schema+".t WHERE id = 1")
			want := "2 2 two NULL 20, 3 3 three 2020-01-03 00:00:00 30, 4 40 four NULL 4, 5 4 five NULL 5"
			if !cold {
				b.exec("UPDATE " + b.schema + ".t SET id = 7 WHERE id = 5")
				want = "2 2 two NULL 20, 3 3 three 2020-01-03 00:00:00 30, 4 40 four NULL 4, 7 4 five NULL 5"
			}
			b.mustUndo(planning.Undo{Cold: cold})
			const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, u, note, IFNULL(at, 'NULL'), v) ORDER BY id SEPARATOR ', ') FROM "
			if got := b.value(rows + b.schema + ".t"); got != want {
				b.Errorf("cold %v: %s, want %s", cold, got, want)
			}
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_undone", "DROP TABLE IF EXISTS "+b.schema+".t_undo")
		}
	})
}

// TestU4_UnfitRowsStopTheUndoOrAreParked: rows that the old definition refuses are listed before any lock, or set aside.
func TestU4_UnfitRowsStopTheUndoOrAreParked(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n TINYINT NOT NULL, u INT, UNIQUE (u))",
				"INSERT INTO "+b.schema+".t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)")
			b.cfg.Undo = time.Hour
			b.mustMigrate("MODIFY n INT NULL, DROP INDEX u")
			b.exec("UPDATE "+b.schema+".t SET n = 1000 WHERE id = 2", "UPDATE "+b.schema+".t SET u = 1 WHERE id = 3",
				"UPDATE "+b.schema+".t SET n = NULL WHERE id = 4", "INSERT INTO "+b.schema+".t VALUES (5, 5, 5)")
			var found, first, parked, unfit, except int
			count := func(e event.Event) {
				switch e := e.(type) {
				case event.Finding:
					found += int(e.Rows)
				case event.UnfitFound:
					first++
				case event.Parked:
					parked = e.Rows
				case event.Verified:
					except = e.Unfit
				case event.Progress:
					if e.Unfit != nil {
						unfit = int(e.Unfit.Rows)
					}
				}
			}
			_, err := b.undo(b.ctx(), planning.Undo{Cold: cold}, count)
			if !errors.Is(err, park.ErrUnfit) && !errors.Is(err, failure.ErrUnfit) {
				b.Fatalf("undo with unfit rows: %v", err)
			}
			if found != 3 && !cold || found == 0 {
				b.Errorf("%d unfit rows were reported", found)
			}
			if !cold && (first != 1 || unfit != 3 || except != 3) {
				b.Errorf("the first unfit row was reported %d times, at last %d unfit rows, and %d when the tables were compared", first, unfit, except)
			}
			if _, err := b.undo(b.ctx(), planning.Undo{Cold: cold, Park: true}, count); err != nil {
				b.Fatal(err)
			}
			if parked != 3 {
				b.Errorf("%d rows were reported as parked", parked)
			}
			const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, IFNULL(n, 'NULL'), u) ORDER BY id SEPARATOR ', ') FROM "
			if got := b.value(rows + b.schema + ".t"); got != "1 1 1, 5 5 5" {
				b.Errorf("rows are %s", got)
			}
			if got := b.value(rows + b.schema + ".t_parked"); got != "2 1000 2, 3 3 1, 4 NULL 4" {
				b.Errorf("parked rows are %s", got)
			}
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_undone", "DROP TABLE "+b.schema+".t_parked",
				"DROP TABLE IF EXISTS "+b.schema+".t_undo")
		}
	})
}

// TestU4_ParkingComesToItsEnd: while rows that do not fit are written, an undo sets those apart that are there, and swaps.
func TestU4_ParkingComesToItsEnd(t *testing.T) { // alone: next to the writers of other tests its catching up would give way
	mysqltest.Seldom(t)
	onThese(t, inTurn(t, []string{"9.7", "mariadb-10.11"}), func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT AUTO_INCREMENT PRIMARY KEY, n TINYINT NOT NULL)", "INSERT INTO "+b.schema+".t (n) VALUES (1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n INT NOT NULL")
		insert := "INSERT INTO " + b.schema + ".t (n) VALUES (1000)" + strings.Repeat(", (1000)", 9)
		written := 1
		for range 50 {
			b.exec(insert)
			written += 10
		}
		swapped := make(chan struct{})
		go func() {
			defer close(swapped)
			for {
				began := time.Now()
				if _, err := b.db.Exec(insert); dbconn.ValueRefused(err) {
					return
				} else if err != nil {
					b.Error(err)
					return
				}
				written += 10
				time.Sleep(max(20*time.Millisecond, 2*time.Since(began))) // as fast as the server can bear it
			}
		}()
		ctx, cancel := context.WithTimeout(b.ctx(), 3*time.Minute)
		defer cancel()
		if _, err := b.undo(ctx, planning.Undo{Park: true}); err != nil {
			b.Fatal(err)
		}
		<-swapped
		if got := b.value("SELECT (SELECT COUNT(*) FROM " + b.schema + ".t) + (SELECT COUNT(*) FROM " + b.schema + ".t_parked)"); got != strconv.Itoa(written) {
			b.Errorf("%s rows are left of %d", got, written)
		}
		b.exec("DROP TABLE "+b.schema+".t_parked", "DROP TABLE "+b.schema+".t_undo")
	})
}

// TestU1_AWarmUndoFollowsUntilItIsReleased: an undo that is held keeps the old table equal, and lists what does not fit.
func TestU1_AWarmUndoFollowsUntilItIsReleased(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 5000, ledger.Options{})
		b.cfg.Undo = time.Hour
		b.start(l)
		b.mustMigrate(alter)
		b.settings.When.Hold = true
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { pool.Close() })
		server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
		p, err := planning.Make(b.ctx(), server, &ddl.Alter{Table: schema.Name{Schema: b.schema, Table: "t"}},
			planning.Options{Undo: &planning.Undo{}, Config: b.cfg, Settings: b.settings, FactsOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		control := b.control()
		held, done := make(chan struct{}), make(chan error, 1)
		var once sync.Once
		listen := func(e event.Event) {
			if entered(event.PhaseHold)(e) {
				once.Do(func() { close(held) })
			}
		}
		go func() {
			_, err := migration.New(pool, b.binlogServer(), p, b.cfg, control, listen).Run(b.ctx())
			done <- err
		}()
		select {
		case <-held:
		case err := <-done:
			b.Fatalf("the undo ended before it was held: %v", err)
		}
		time.Sleep(time.Second) // writers are at work
		began := time.Now()
		if _, err := control.CutOver(b.ctx(), true); err != nil {
			b.Fatal(err)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		b.Logf("released to swapped in %s", time.Since(began))
		b.mustMatchLedger(l)
		b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo")
	})
}
