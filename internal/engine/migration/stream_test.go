package migration_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/binlog"
)

// documents makes table t with the keys 1 to n, a document and a text in each row.
func (b *bench) documents(n int) {
	b.Helper()
	b.numbered(n)
	b.exec("ALTER TABLE "+b.schema+".t ADD COLUMN doc JSON, ADD COLUMN b LONGTEXT",
		"UPDATE "+b.schema+`.t SET doc = JSON_OBJECT('a', REPEAT('x', 200), 'n', id), b = REPEAT('y', 500)`)
}

// same fails the test unless the new table holds what the old one held at the swap, in all columns.
func (b *bench) same() {
	b.Helper()
	all := "SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS('/', id, v, COALESCE(u, 'NULL'), COALESCE(doc, 'NULL'), COALESCE(b, 'NULL'))))) FROM " + b.schema
	if new, old := b.value(all+".t"), b.value(all+".t_old"); new != old {
		b.Errorf("rows and checksum are %s, of the old table %s", new, old)
	}
}

// everyKind are statements of every kind on the rows from %[1]d to %[1]d+99 of t.
var everyKind = []string{
	"INSERT INTO t (id, v) VALUES (%[1]d*1000+50000, 1), (%[1]d*1000+50001, 2), (%[1]d*1000+50002, 3)",
	// It takes another row's u, and removes that row.
	"REPLACE INTO t (id, v, u) VALUES (%[1]d, 9, %[1]d+60000), (%[1]d*1000+50003, 9, %[1]d+1)",
	"INSERT INTO t (id, v, u) VALUES (%[1]d+2, 5, NULL) ON DUPLICATE KEY UPDATE v = v + 7, b = 'z'",
	"INSERT INTO t (id, v, u) VALUES (%[1]d*1000+50004, 5, %[1]d+3) ON DUPLICATE KEY UPDATE id = id + 50100",
	"INSERT IGNORE INTO t (id, v) VALUES (%[1]d+4, 1), (%[1]d*1000+50005, 1)",
	"UPDATE t SET doc = JSON_SET(doc, '$.n', -1), v = 3 WHERE id BETWEEN %[1]d+10 AND %[1]d+14",
	"UPDATE t SET b = NULL WHERE id = %[1]d+15",
	"UPDATE t SET v = v + 1 WHERE id BETWEEN %[1]d+16 AND %[1]d+19",
	"DELETE FROM t WHERE id BETWEEN %[1]d+20 AND %[1]d+22",
	"BEGIN",
	"INSERT INTO t (id, v) VALUES (%[1]d*1000+50010, 1)",
	"DELETE FROM t WHERE id = %[1]d*1000+50010",
	"COMMIT",
	"BEGIN",
	"DELETE FROM t WHERE id = %[1]d+23",
	"INSERT INTO t (id, v, u) VALUES (%[1]d+23, 8, %[1]d+23)",
	"COMMIT",
	"BEGIN",
	"UPDATE t SET v = 1 WHERE id = %[1]d+24",
	"SAVEPOINT s",
	"DELETE FROM t WHERE id BETWEEN %[1]d+25 AND %[1]d+29",
	"SAVEPOINT r",
	"UPDATE t SET v = 2 WHERE id = %[1]d+24",
	"RELEASE SAVEPOINT r",
	"ROLLBACK TO s",
	"UPDATE t SET v = 4 WHERE id = %[1]d+26",
	"COMMIT",
	"BEGIN",
	"DELETE FROM t WHERE id BETWEEN %[1]d+25 AND %[1]d+40",
	"ROLLBACK",
	// a ring
	"BEGIN",
	"UPDATE t SET id = -%[1]d WHERE id = %[1]d+30",
	"UPDATE t SET id = %[1]d+30 WHERE id = %[1]d+31",
	"UPDATE t SET id = %[1]d+31 WHERE id = -%[1]d",
	"COMMIT",
	"UPDATE t SET id = id + 50200 WHERE id BETWEEN %[1]d+32 AND %[1]d+34",
	"UPDATE t SET id = -id WHERE id = %[1]d+35",
	"BEGIN",
	"UPDATE t SET u = NULL WHERE id = %[1]d+36",
	"UPDATE t SET u = %[1]d+36 WHERE id = %[1]d+37",
	"UPDATE t SET u = %[1]d+37 WHERE id = %[1]d+36",
	"COMMIT",
	"LOAD DATA LOCAL INFILE 'Reader::rows' REPLACE INTO TABLE t FIELDS TERMINATED BY ',' (@n, v) SET id = IF(@n < 100, %[1]d, %[1]d*1000) + @n",
	"INSERT INTO t (id, v, b) SELECT id + 50300, v, b FROM t WHERE id BETWEEN %[1]d*1000+50 AND %[1]d+59",
}

// sessions are settings with which the application may write; other servers may not have them.
var sessions = map[string]string{
	"plain":            "DO 0",
	"image minimal":    "SET SESSION binlog_row_image = MINIMAL",
	"image noblob":     "SET SESSION binlog_row_image = NOBLOB",
	"partial json":     "SET SESSION binlog_row_value_options = PARTIAL_JSON",
	"minimal, partial": "SET SESSION binlog_row_image = MINIMAL, binlog_row_value_options = PARTIAL_JSON",
	"compression":      "SET SESSION binlog_transaction_compression = ON",
	"tagged gtid":      "SET SESSION gtid_next = 'AUTOMATIC:midstream'",
	"rows query":       "SET SESSION binlog_rows_query_log_events = ON",
	"other modes": "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH', time_zone = '-11:30', character_set_client = latin1, " +
		"character_set_connection = gbk, foreign_key_checks = 0, unique_checks = 0, timestamp = 86400",
}

// only97 are the settings that MySQL 8.0.12 does not have.
var only97 = []string{"compression", "tagged gtid"}

// onThose runs a test on every version with MySQL 8.0's settings, or only on the version that has
// what the test needs.
func onThose(t *testing.T, only97 bool, test func(b *bench)) {
	if only97 {
		t.Run("9.7", func(t *testing.T) { test(setup(t, "9.7")) })
		return
	}
	onThese(t, modern(), test)
}

// TestStatementsOfEveryKind: whatever the application does, in whatever session, before and after
// the rows are copied, the new table has it.
func TestStatementsOfEveryKind(t *testing.T) {
	mysqltest.Seldom(t)
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("41,7\n99,8\n50400,9\n") })
	t.Cleanup(func() { mysql.DeregisterReaderHandler("rows") })
	for name, set := range sessions {
		t.Run(name, func(t *testing.T) {
			onThose(t, slices.Contains(only97, name), func(b *bench) {
				b.exec("SET GLOBAL local_infile = 1")
				b.documents(2000)
				b.cfg.RowCopy.MaxRows = 200
				f := b.feeder()
				f.exec(set)
				write := func(from int) {
					for _, s := range everyKind {
						f.exec(strings.ReplaceAll(s, "%[1]d", fmt.Sprint(from)))
					}
				}
				b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCopy, func() { write(101); write(1901) }),
					onPhase(event.PhaseVerify, func() { write(301) }), onPhase(event.PhaseCatchUp, func() { write(501); write(1001) }))
				b.same()
			})
		})
	}
}

// TestGlobalSettings: the same, with settings that every session of the server has since the plan.
func TestGlobalSettings(t *testing.T) {
	mysqltest.Seldom(t)
	for _, c := range []struct {
		variable, value, usual string
		only97                 bool
	}{
		{"binlog_row_image", "MINIMAL", "FULL", false},
		{"binlog_row_image", "NOBLOB", "FULL", false},
		{"binlog_row_value_options", "PARTIAL_JSON", "", false},
		{"binlog_transaction_compression", "ON", "OFF", true},
		{"binlog_order_commits", "OFF", "ON", false},
	} {
		t.Run(c.variable+" "+c.value, func(t *testing.T) {
			onThose(t, c.only97, func(b *bench) {
				b.exec("SET GLOBAL " + c.variable + " = '" + c.value + "'")
				b.Cleanup(func() { b.exec("SET GLOBAL " + c.variable + " = '" + c.usual + "'") })
				b.documents(1000)
				b.db.SetMaxIdleConns(0) // connections have their settings from their start
				change := func(from int) func() {
					return func() {
						b.exec(
							fmt.Sprintf(
								"UPDATE %s.t SET doc = JSON_SET(doc, '$.n', -1), v = 3 WHERE id BETWEEN %d AND %[2]d + 50",
								b.schema, from,
							),
							fmt.Sprintf("UPDATE %s.t SET id = id + 5000 WHERE id BETWEEN %d + 51 AND %[2]d + 60", b.schema, from),
							fmt.Sprintf("DELETE FROM %s.t WHERE id BETWEEN %d + 61 AND %[2]d + 70", b.schema, from),
							fmt.Sprintf("INSERT INTO %s.t (id, v) VALUES (%d + 9000, 1)", b.schema, from),
						)
					}
				}
				b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCopy, change(101)), onPhase(event.PhaseCatchUp, change(501)))
				b.same()
			})
		})
	}
}

// TestXAAroundEveryPhase: transactions that are prepared in one phase and end in the next phase, or
// the one after it, by COMMIT and by ROLLBACK.
func TestXAAroundEveryPhase(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		b.cfg.RowCopy.MaxRows = 200
		phases := []event.Phase{event.PhaseCheck, event.PhaseShadow, event.PhaseCopy, event.PhaseVerify, event.PhaseCutover}
		type open struct{ kept, dropped func(string) }
		var opened []open
		finish := func() {
			for _, o := range opened {
				o.kept("XA COMMIT")
				o.dropped("XA ROLLBACK")
			}
			opened = nil
		}
		seen := map[event.Phase]bool{}
		b.mustMigrate("ADD COLUMN added INT", func(e event.Event) {
			p, is := e.(event.PhaseEntered)
			// This phase waits for the transactions of the phase before, and reports that.
			if !is || p.Phase == event.PhaseStart {
				return
			}
			i := slices.Index(phases, p.Phase)
			if i < 0 || seen[p.Phase] {
				finish()
				return
			}
			seen[p.Phase] = true
			from, phase := 300*i+1, string(p.Phase)
			next := open{
				b.prepareXA("kept-"+phase, fmt.Sprintf("UPDATE %s.t SET v = 8 WHERE id BETWEEN %d AND %[2]d + 49", b.schema, from),
					fmt.Sprintf("INSERT INTO %s.t VALUES (%d + 10000, 8, NULL)", b.schema, from)),
				b.prepareXA("dropped-"+phase, fmt.Sprintf("DELETE FROM %s.t WHERE id BETWEEN %d + 100 AND %[2]d + 149", b.schema, from)),
			}
			// End the transactions of the phase before, while these are prepared.
			finish()
			opened = append(opened, next)
		}, func(e event.Event) {
			if n, is := e.(event.Note); is && strings.Contains(n.Text, "XA") {
				finish()
			}
		})
		b.equal()
		if got := b.value("SELECT SUM(v = 8) FROM " + b.schema + ".t"); got != fmt.Sprint(51*len(phases)) {
			b.Errorf("%s rows of committed transactions arrived, want %d", got, 51*len(phases))
		}
	})
}

// TestL5_BrokenStreamLosesNothing: capture loses its connection within a transaction.
func TestL5_BrokenStreamLosesNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(5000)
		d := b.dump()
		cuts := 0
		cut := func(change func()) func() {
			return func() {
				before := d.connections()
				d.cutAfter(30_000, func() { cuts++ })
				change()
				for end := time.Now().Add(20 * time.Second); d.connections() == before; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						b.Fatal("the run has not connected again")
					}
				}
			}
		}
		big := "UPDATE " + b.schema + ".t SET v = v + 1, u = u + 10000" // some 200 KB
		b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCopy, cut(func() { b.exec(big + " WHERE id > 0") })),
			onPhase(event.PhaseCatchUp, cut(func() {
				b.prepareXA("cut", "DELETE FROM "+b.schema+".t WHERE id > 2000")("XA COMMIT")
			})))
		b.equal()
		if cuts != 2 {
			b.Errorf("the stream was cut %d times", cuts)
		}
	})
}

// TestL9_PurgedBinlogStops: the binlog is purged while capture is not connected.
func TestL9_PurgedBinlogStops(t *testing.T) {
	onEachAlone(t, func(b *bench) {
		b.numbered(1000)
		d := b.dump()
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
			d.cutAfter(0, func() {
				b.exec("UPDATE "+b.schema+".t SET v = 7", "FLUSH BINARY LOGS")
				b.purge()
			})
			b.exec("UPDATE " + b.schema + ".t SET v = 5")
		}))
		b.failedBeforeTheSwap(err, binlog.ErrPurged)
	})
}

// TestL5_AnotherServerStops: after a failover, the other server's binlog may have another event at
// the same place. The work is kept.
func TestL5_AnotherServerStops(t *testing.T) {
	onEach(t, func(b *bench) {
		other := mysqltest.Own(t, b.version, sandbox.Options{})
		b.numbered(1000)
		d := b.dump()
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
			d.leadTo(other.Address)
			d.cutAfter(0, nil)
			b.exec("UPDATE " + b.schema + ".t SET v = 5")
		}))
		var failed *failure.Failure
		if !errors.Is(err, binlog.ErrOtherServer) || !errors.As(err, &failed) || !failed.Kept || !failed.Lost {
			b.Fatalf("the error is %v, want %v", err, binlog.ErrOtherServer)
		}
		d.leadTo(b.server.Address)
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
			b.Error("the next run began again")
		}
		b.equal()
	})
}

// purge purges the binlog except for its last file. MariaDB does not do that at once: it keeps what
// a session sends, even if its client is gone, and what a crash recovery would need.
func (b *bench) purge() {
	b.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if id := b.value("SELECT IFNULL(MIN(processlist_id), '') FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'"); id != "" {
			b.db.ExecContext(b.ctx(), "KILL "+id) // it may have ended by itself
		}
		b.exec("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
		rows, err := b.db.QueryContext(b.ctx(), "SHOW BINARY LOGS")
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for ; rows.Next(); n++ {
		}
		rows.Close()
		if n == 1 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("there are %d files of binlog still", n)
		}
	}
}

// failedBeforeTheSwap fails the test unless the run ended for the cause, with the source unchanged.
func (b *bench) failedBeforeTheSwap(err, cause error) {
	b.Helper()
	var failed *failure.Failure
	if !errors.Is(err, cause) || !errors.As(err, &failed) || failed.Swapped ||
		!strings.Contains(failed.Left, "is untouched and nothing is left") {
		b.Fatalf("the error is %v, want %v", err, cause)
	}
	if tables := b.value("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema +
		"' AND table_name LIKE 't\\_%'"); tables != "" {
		b.Errorf("tables %s are left", tables)
	}
}

// TestBinlogSettingsChange: checksums are switched on and off, files rotate and are purged, and
// GTIDs are switched off and on while a run reads the binlog.
func TestBinlogSettingsChange(t *testing.T) {
	toOff := []string{"SET GLOBAL gtid_mode = ON_PERMISSIVE", "SET GLOBAL gtid_mode = OFF_PERMISSIVE", "SET GLOBAL gtid_mode = OFF"}
	toOn := []string{
		"SET GLOBAL enforce_gtid_consistency = ON", "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
		"SET GLOBAL gtid_mode = ON_PERMISSIVE", "SET GLOBAL gtid_mode = ON",
	}
	onEachAlone(t, func(b *bench) {
		first, second := toOff, toOn
		if isMariaDB(b.version) { // it always has GTIDs
			first, second = []string{"SET GLOBAL gtid_strict_mode = ON"}, []string{"SET GLOBAL gtid_strict_mode = OFF"}
		} else if b.value("SELECT @@gtid_mode") == "OFF" {
			first, second = toOn, toOff
		}
		b.numbered(3000)
		b.cfg.RowCopy.MaxRows = 300
		n := 0
		change := func(statement string) {
			n++
			b.exec(statement, fmt.Sprintf("UPDATE %s.t SET v = v + 1 WHERE id %% 7 = %d %% 7", b.schema, n),
				fmt.Sprintf("UPDATE %s.t SET id = id + 10000 WHERE id = %d", b.schema, 100*n))
		}
		all := func(statements []string) func() {
			return func() {
				change("SET GLOBAL binlog_checksum = NONE")
				change("FLUSH BINARY LOGS")
				for _, s := range statements {
					change(s)
				}
				change("SET GLOBAL binlog_checksum = CRC32")
				change("FLUSH BINARY LOGS")
				change("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY") // except for what is being read
			}
		}
		b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCopy, all(first)), onPhase(event.PhaseCatchUp, all(second)))
		b.equal()
	})
}
