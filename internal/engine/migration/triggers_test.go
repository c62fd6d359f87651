package migration_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// audited is a ledger's table whose triggers write each old row and each new row to an audit table.
// If a row was written without its triggers, or with a trigger twice, the sums are wrong.
type audited struct {
	*bench
	ledger *ledger.Ledger
	told   []schema.Trigger
}

// auditing are the triggers of t, by name; %s are digests of the new row and of the old one. The
// second of two checks what the first has written.
var auditing = [][2]string{
	{
		"inserted",
		"AFTER INSERT ON t FOR EACH ROW BEGIN /* of a new row */ INSERT INTO audit (new, who) VALUES (%[1]s, CONNECTION_ID()); SET @first = CONCAT(IFNULL(@first, ''), 'x'); END",
	},
	{
		"second",
		"AFTER INSERT ON t FOR EACH ROW FOLLOWS inserted BEGIN INSERT INTO audit (said, who) VALUES (@first, CONNECTION_ID()); SET @first = NULL; END",
	},
	{"updated", "AFTER UPDATE ON t FOR EACH ROW INSERT INTO audit (old, new) VALUES (%[2]s, %[1]s) -- no end"},
	{"deleted", "AFTER DELETE ON t FOR EACH ROW INSERT INTO audit (old, who) VALUES (%[2]s, CONNECTION_ID())"},
}

// audited makes the tables, and starts the writers.
func (b *bench) audited(rows int, opts ledger.Options) *audited {
	b.Helper()
	l := b.ledger(ledger.Int(), rows, opts)
	var columns []string
	for _, c := range strings.Split(b.value("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'"), ",") {
		columns = append(columns, "IFNULL(HEX(CAST(%[1]s"+schema.Quote(c)+" AS BINARY)), '-')")
	}
	digest := func(of string) string {
		return "SHA2(CONCAT_WS('|', " + fmt.Sprintf(strings.Join(columns, ", "), of) + "), 256)"
	}
	b.exec(
		"CREATE TABLE audit (n BIGINT AUTO_INCREMENT PRIMARY KEY, old CHAR(64), new CHAR(64), said VARCHAR(20), who BIGINT)",
		"CREATE TABLE digests (d CHAR(64))",
		"INSERT INTO digests SELECT "+digest("t.")+" FROM t",
		"CREATE VIEW missed AS SELECT d, SUM(n) AS n FROM (SELECT new AS d, 1 AS n FROM audit WHERE new IS NOT NULL UNION ALL SELECT old, -1 FROM audit WHERE old IS NOT NULL"+
			" UNION ALL SELECT d, 1 FROM digests UNION ALL SELECT "+digest(
			"t.",
		)+", -1 FROM t) AS x GROUP BY d HAVING SUM(n) <> 0",
	)
	for _, trigger := range auditing {
		b.exec("CREATE TRIGGER " + trigger[0] + " " + fmt.Sprintf(trigger[1]+"%.0[1]s%.0[2]s", digest("NEW."), digest("OLD.")))
	}
	a := &audited{bench: b, ledger: l, told: b.triggers("t")}
	b.start(l)
	return a
}

// triggers are a table's triggers, without the time of their creation.
func (b *bench) triggers(table string) []schema.Trigger {
	b.Helper()
	all, err := schema.Triggers(b.ctx(), b.db, schema.Name{Schema: b.schema, Table: table})
	if err != nil {
		b.Fatal(err)
	}
	for i := range all {
		all[i].Created = ""
		// It keeps blanks after FOR EACH ROW, unless a trigger order was given there.
		if b.version == "5.7" {
			all[i].Create = bytes.Join(bytes.Fields(all[i].Create), []byte(" "))
		}
	}
	return all
}

// sameTriggers checks that a table has the same triggers as before, in their order.
func (b *bench) sameTriggers(table string, want []schema.Trigger) {
	b.Helper()
	got := b.triggers(table)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			b.Errorf("%s lacks trigger %s", table, want[i].Create)
		case i >= len(want) || !got[i].Equal(want[i]):
			b.Errorf("%s has trigger %+v\n%s", table, got[i], got[i].Create)
		}
	}
}

// proved checks that the audit table holds exactly what was written.
func (a *audited) proved() {
	a.Helper()
	time.Sleep(100 * time.Millisecond)
	a.mustMatchLedger(a.ledger)
	for query, want := range map[string]string{
		"SELECT COUNT(*) FROM missed":                                                   "0",
		"SELECT COUNT(*) FROM audit WHERE said <> 'x'":                                  "0",
		"SELECT SUM(old IS NULL AND new IS NOT NULL) FROM audit":                        a.value("SELECT COUNT(said) FROM audit"),
		"SELECT COUNT(old) > 100 AND COUNT(*) > COUNT(new) FROM audit":                  "1",
		"SELECT COUNT(*) FROM audit WHERE said IS NULL AND old IS NULL AND new IS NULL": "0",
	} {
		if got := a.value(query); got != want {
			a.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestL6_Triggers: before, in and after the swap, a table's triggers act once for each row that is
// written, and never for a row that the run writes.
func TestL6_Triggers(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		a := b.audited(3000, ledger.Options{})
		result := b.mustMigrate(alter)
		a.proved()
		b.sameTriggers("t", a.told)
		b.sameTriggers("t_old", nil)
		b.Logf("lock held %s in %d attempts; %s rows of audit", result.LockHeld, result.Attempts, b.value("SELECT COUNT(*) FROM audit"))
	})
}

// TestL7_TriggersKilled: a run is killed at each kind of statement from the lock on, or loses the
// connection that holds the lock. Each row still fires each trigger once, even in a transaction
// whose read view is older than the swap. The next command repairs the names.
func TestL7_TriggersKilled(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	type point struct {
		at      string
		killed  bool
		by      func(b *bench)
		swapped bool
	}
	for _, version := range inTurn(t, versions) {
		for _, c := range halfInTurn(t, []point{
			{"CREATE DEFINER=`root`@`%` TRIGGER `midstream_", true, (*bench).nextRun, true},
			{"RENAME TABLE `SCHEMA`.`t` TO", true, (*bench).nextCleanup, false},
			{"RENAME TABLE `SCHEMA`.`t` TO", false, nil, true},
			{"DROP TRIGGER `SCHEMA`.`inserted`", true, (*bench).nextRun, true},
			{"PRECEDES", true, (*bench).nextCleanup, true},
			{"PRECEDES", false, nil, true},
			{"DROP TRIGGER `SCHEMA`.`midstream", true, (*bench).nextCleanup, true},
		}) {
			t.Run(fmt.Sprintf("%s/%s, killed %t", version, c.at, c.killed), func(t *testing.T) {
				b := setup(t, version)
				b.cfg.NoVerify, b.settings.Lock.Work = true, 3*time.Second
				a := b.audited(300, ledger.Options{Writers: 3, Rate: 300})
				rule := fault.Rule{
					After: "LOCK TABLES `" + b.schema + "`.`t` WRITE",
					At:    strings.ReplaceAll(c.at, "SCHEMA", b.schema),
					Cut:   true,
				}
				if c.killed {
					write := b.killedInSwap(rule)
					// After a trigger is created and before its stand-in is dropped, MySQL 8.0 and
					// later fire both for an old view.
					ofNow := version == "5.7" || strings.HasPrefix(version, "mariadb")
					if ofNow || !strings.Contains(c.at, "DROP TRIGGER `SCHEMA`.`midstream") {
						write()
					}
					c.by(b)
				} else {
					w := b.wire(rule)
					b.mustMigrate(alter)
					if !bent(w) {
						b.Error("no connection was lost")
					}
				}
				a.proved()
				b.sameTriggers("t", a.told)
				if c.swapped {
					b.sameTriggers("t_old", nil)
				}
				if has := strings.Contains(
					b.value(
						"SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'",
					),
					"added",
				); has != c.swapped {
					b.Errorf("t has its new schema: %t", has)
				}
				if left := b.value(
					"SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('t_shadow', 't_midstream')",
				); left != "" {
					b.Errorf("%s is left", left)
				}
			})
		}
	}
}

func (b *bench) nextRun() {
	// If the earlier run had swapped, this one finds nothing to do.
	b.child(alter, "", nil).wait()
}

func (b *bench) nextCleanup() { b.nextCleanupOf("t") }

func (b *bench) nextCleanupOf(table string) {
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, err := leftovers.Cleanup(
			b.ctx(), pool, schema.Name{Schema: b.schema, Table: table}, false,
			func([]leftovers.Table) bool { return true }, func(string) {},
		)
		if errors.Is(err, leftovers.ErrClaimed) && time.Since(began) < 10*time.Second {
			// The server has not noticed yet that the killed run's connections are gone.
			continue
		}
		if err != nil {
			b.Error(err)
		}
		return
	}
}

// killedInSwap kills a run at a statement. It returns a function that writes a row in a transaction
// that began just before the swap and has not used the table yet.
func (b *bench) killedInSwap(rule fault.Rule) (write func()) {
	b.Helper()
	conn := b.conn()
	do := func(s string) {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Errorf("%s: %v", s, err)
		}
	}
	var c *child
	ready := make(chan struct{})
	rule.Call = func() {
		<-ready
		c.kill()
	}
	b.wire(rule)
	c = b.child(
		alter, phaseLine(event.PhaseCutover), func(*child) { do("START TRANSACTION WITH CONSISTENT SNAPSHOT") },
		"--no-verify", "--lock-work=3s",
	// A failed attempt would withdraw by similar statements.
	)
	close(ready)
	if code, last := c.wait(); code != -1 {
		b.Fatalf("exit code %d: %s", code, last)
	}
	b.address = b.server.Address
	return func() {
		do("INSERT INTO t (id, code, amount, name, changed, version) VALUES (-7, 4294967290, 1, 'seen late', NOW(6), 0)")
		do("DELETE FROM t WHERE id = -7")
		do("COMMIT")
		var said int
		if err := conn.QueryRowContext(
			b.ctx(),
			"SELECT COUNT(*) FROM audit WHERE who = CONNECTION_ID()",
		).Scan(
			&said,
		); err != nil ||
			said != 3 {
			b.Errorf("a transaction that began before the swap has fired %d triggers, want 3 (error %v)", said, err)
		}
	}
}

// TestTriggersAsTheyWere: a trigger moves with everything that belongs to it: its words, comments,
// place, definer, sql_mode and charsets.
func TestTriggersAsTheyWere(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.exec(
			"CREATE TABLE t (id INT PRIMARY KEY, v INT, `naïve col` VARCHAR(40) CHARACTER SET utf8mb4)",
			"INSERT INTO t (id) VALUES (1), (2)",
			"CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(60) CHARACTER SET utf8mb4)",
		)
		conn := b.conn()
		for _, s := range []string{
			"CREATE DEFINER = nobody@nowhere TRIGGER gone BEFORE DELETE ON t FOR EACH ROW SET @gone = OLD.v",
			"SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
			`CREATE TRIGGER "an'si \" BEFORE INSERT ON "t" FOR EACH ROW SET NEW.v = NEW.v + 1, @said = 'a\' || 'b'`,
			"SET SESSION sql_mode = ''",
			"CREATE TRIGGER b1 BEFORE INSERT ON t FOR EACH ROW /*!50000 SET NEW.v = NEW.v */ * 10 /*!99999 + 7 */",
			"CREATE TRIGGER b0 BEFORE INSERT ON t FOR EACH ROW PRECEDES b1 lab: BEGIN DECLARE x INT DEFAULT 3; IF NEW.v IS NULL THEN LEAVE lab; END IF; SET NEW.v = NEW.v + x; END lab # `end`",
			"CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.`naïve col` = CONCAT(_utf8mb4'🐬', NEW.`naïve col`)",
			"SET NAMES latin1",
			"CREATE TRIGGER latin AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (w) VALUES (CONCAT('caf\xe9 ', COLLATION('x')))",
			"SET NAMES sjis",
			"CREATE TRIGGER sjis AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (w) VALUES ('\x94\x5c\x83\x5c')",
		} {
			if _, err := conn.ExecContext(b.ctx(), s); err != nil {
				b.Fatalf("%s: %v", s, err)
			}
		}
		want := b.triggers("t")
		do := "INSERT INTO t (id, v) VALUES (%d, 5), (%d, NULL)"
		told := func() string { return b.value("SELECT GROUP_CONCAT(w ORDER BY n) FROM audit") }
		b.exec(fmt.Sprintf(do, 3, 4))
		before := told()
		b.exec("TRUNCATE audit")
		b.mustMigrate("ADD COLUMN added INT FIRST, MODIFY v BIGINT")
		b.sameTriggers("t", want)
		b.exec(fmt.Sprintf(do, 5, 6), "UPDATE t SET `naïve col` = 'x' WHERE id = 5")
		if after := told(); after != before || before == "" {
			b.Errorf("the triggers are %s, and were %s", after, before)
		}
		if got := b.value(
			"SELECT GROUP_CONCAT(CONCAT_WS(' ', id, IFNULL(v, '-')) ORDER BY id) FROM t",
		); got != "1 -,2 -,3 90,4 -,5 90,6 -" {
			b.Errorf("the rows are %s", got)
		}
		if got := b.value("SELECT `naïve col` FROM t WHERE id = 5"); got != "🐬x" {
			b.Errorf("the column has %s", got)
		}
	})
}

// TestTriggersMeanwhile: a trigger is dropped or created while the table is copied. The work is
// kept, and the same command resumes it with the triggers that exist then.
func TestTriggersMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t, "9.7")
	b.exec(
		"CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)",
		"CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1",
		"CREATE TRIGGER two BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = 2",
	)
	for _, statement := range []string{"DROP TRIGGER one", "CREATE TRIGGER three AFTER DELETE ON t FOR EACH ROW SET @three = 3"} {
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseVerify, func() { b.exec(statement) }))
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !errors.Is(err, cutover.ErrRelated) {
			b.Errorf("%s: error %v", statement, err)
		}
	}
	want := b.triggers("t")
	if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
		b.Error("it began again")
	}
	b.sameTriggers("t", want)
}

// TestTriggersNeedPrivileges: the plan names what an account lacks. If the plan can't know, the run
// names it before it copies a row.
func TestTriggersNeedPrivileges(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	b := on(t, "9.7", mysqltest.Own(t, "9.7", sandbox.Options{})) // other tests change its settings
	b.exec(
		"CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)",
		"CREATE DEFINER = root@`%` TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1",
	)
	want := b.triggers("t")
	b.exec("CREATE USER carrier", "GRANT ALL ON `"+b.schema+"`.* TO carrier", "GRANT SELECT ON performance_schema.* TO carrier",
		"GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS, XA_RECOVER_ADMIN, CONNECTION_ADMIN ON *.* TO carrier")
	b.Cleanup(func() { b.db.Exec("DROP USER carrier") })
	b.server = &mysqltest.Instance{Address: b.server.Address, User: "carrier"}
	var refused *plan.Refused
	if _, err := b.migrate(b.ctx(), "ADD COLUMN added INT"); !errors.As(err, &refused) || len(refused.Blocking) != 2 ||
		!strings.Contains(
			err.Error(), "SET GLOBAL log_bin_trust_function_creators = ON",
		) || !strings.Contains(err.Error(), "GRANT SET_ANY_DEFINER ON *.* TO 'carrier'@'%'") {
		b.Errorf("error %v", err)
	}
	b.exec("SET GLOBAL log_bin_trust_function_creators = ON", "GRANT SET_ANY_DEFINER ON *.* TO carrier")
	_, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
	if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), "SYSTEM_USER") ||
		!strings.Contains(err.Error(), "is untouched and nothing is left") {
		b.Errorf("error %v", err)
	}
	b.exec("GRANT SYSTEM_USER ON *.* TO carrier")
	b.mustMigrate("ADD COLUMN added INT")
	b.sameTriggers("t", want)
}
