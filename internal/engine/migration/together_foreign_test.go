package migration_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// clan are tables that foreign keys bind: boss has a foreign key to itself, kid refuses, and heir cascades.
var clan = []string{"boss", "kid", "heir"}

// clan makes the tables, with rows.
func (b *bench) clan(rows int) {
	b.Helper()
	b.exec(
		"CREATE TABLE boss (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, up INT, v INT NOT NULL DEFAULT 0, KEY (up), CONSTRAINT self FOREIGN KEY (up) REFERENCES boss (id))",
		"CREATE TABLE kid (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, bid INT NOT NULL, v INT NOT NULL DEFAULT 0, KEY named (bid), CONSTRAINT chosen FOREIGN KEY (bid) REFERENCES boss (id))",
		"CREATE TABLE heir (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, bid INT, v INT NOT NULL DEFAULT 0, FOREIGN KEY (bid) REFERENCES boss (id) ON DELETE CASCADE ON UPDATE CASCADE)",
		fmt.Sprintf("INSERT INTO boss (id, up) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, NULLIF(i DIV 2, 0) FROM n", rows),
		"INSERT INTO kid (bid) SELECT id FROM boss",
		"INSERT INTO heir (bid) SELECT id FROM boss",
	)
}

// clanTo are the statements that give all ends of the foreign keys a type.
func (b *bench) clanTo(to string) string {
	return strings.NewReplacer("S.", b.schema+".", "TYPE", to).Replace(
		"ALTER TABLE S.boss MODIFY id TYPE NOT NULL AUTO_INCREMENT, MODIFY up TYPE; ALTER TABLE S.kid MODIFY bid TYPE NOT NULL; ALTER TABLE S.heir MODIFY bid TYPE")
}

// clanTypes are the types of the ends.
func (b *bench) clanTypes() string {
	b.Helper()
	return b.value("SELECT GROUP_CONCAT(DISTINCT data_type ORDER BY 1) FROM information_schema.columns WHERE table_schema = DATABASE()" +
		" AND table_name IN ('boss', 'kid', 'heir') AND (column_name IN ('bid', 'up') OR table_name = 'boss' AND column_name = 'id')")
}

// clanAlive has sessions use the tables until stop: rows that the constraints allow must be taken, and rows that they forbid refused.
//
// stop returns the number of statements, and how many heirs the tables should have gained.
func (b *bench) clanAlive() (stop func() (statements, heirs int64)) {
	b.Helper()
	ctx, end := context.WithCancel(b.ctx())
	var all sync.WaitGroup
	var done, heirs atomic.Int64
	do := func(conn *sql.Conn, want uint16, query string, args ...any) (id int64) {
		result, err := conn.ExecContext(context.Background(), query, args...)
		for dbconn.Contended(err) {
			result, err = conn.ExecContext(context.Background(), query, args...)
		}
		done.Add(1)
		if got := dbconn.Number(err); err != nil && got == 0 || got != want {
			b.Errorf("%s %v: error %v, want number %d", query, args, err, want)
		}
		if err == nil {
			id, _ = result.LastInsertId()
		}
		return id
	}
	parts := []func(conn *sql.Conn, n int){
		func(conn *sql.Conn, n int) { // grows, and shrinks
			boss := do(conn, 0, "INSERT INTO boss (up) VALUES (?)", 1+n%9)
			kid := do(conn, 0, "INSERT INTO kid (bid) VALUES (?)", boss)
			do(conn, 0, "INSERT INTO heir (bid) VALUES (?)", boss)
			heirs.Add(1)
			do(conn, 0, "UPDATE kid SET bid = ? WHERE id = ?", 1+n%7, kid)
			do(conn, 0, "UPDATE boss SET v = v + 1 WHERE id = ?", 1+n%500)
			if n%2 == 0 {
				do(conn, 0, "DELETE FROM boss WHERE id = ?", boss) // takes the heir with it
				heirs.Add(-1)
			}
		},
		func(conn *sql.Conn, n int) { // what is forbidden
			do(conn, noParent, "INSERT INTO kid (bid) VALUES (2000000000)")
			do(conn, noParent, "INSERT INTO heir (bid) VALUES (2000000000)")
			do(conn, noParent, "UPDATE boss SET up = 2000000000 WHERE id = 5")
			do(conn, hasChild, "DELETE FROM boss WHERE id = 3")
			do(conn, hasChild, "UPDATE boss SET id = 1900000000 WHERE id = 3")
		},
		func(conn *sql.Conn, n int) { // moves a boss with its heirs
			from, to := -n, -500000-n
			do(conn, 0, "INSERT INTO boss (id) VALUES (?)", from)
			do(conn, 0, "INSERT INTO heir (bid) VALUES (?)", from)
			do(conn, 0, "UPDATE boss SET id = ? WHERE id = ?", to, from)
			do(conn, 0, "DELETE FROM boss WHERE id = ?", to)
		},
	}
	for _, part := range parts {
		conn, err := b.db.Conn(ctx)
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			defer conn.Close()
			for n := 1; ctx.Err() == nil; n++ {
				part(conn, n)
				rest(time.Millisecond)
			}
		})
	}
	return func() (int64, int64) { end(); all.Wait(); return done.Load(), heirs.Load() }
}

// mustBeClan fails the test unless each foreign key is there once, under its name, and no row is an orphan.
func (b *bench) mustBeClan() {
	b.Helper()
	for query, want := range map[string]string{
		"SELECT GROUP_CONCAT(CONCAT_WS(' ', constraint_name, table_name, referenced_table_name, delete_rule) ORDER BY 1) FROM information_schema.referential_constraints" +
			" WHERE constraint_schema = DATABASE()": "chosen kid boss NO ACTION,heir_ibfk_1 heir boss CASCADE,self boss boss NO ACTION",
		"SELECT COUNT(*) FROM kid LEFT JOIN boss ON boss.id = bid WHERE boss.id IS NULL":                             "0",
		"SELECT COUNT(*) FROM heir LEFT JOIN boss ON boss.id = bid WHERE boss.id IS NULL AND bid IS NOT NULL":        "0",
		"SELECT COUNT(*) FROM boss AS x LEFT JOIN boss ON boss.id = x.up WHERE boss.id IS NULL AND x.up IS NOT NULL": "0",
	} {
		if got := b.value(query); got != want {
			b.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// clanSums are what the tables have.
func (b *bench) clanSums() string {
	b.Helper()
	return b.value("SELECT CONCAT_WS(' ', (SELECT CONCAT(COUNT(*), ':', SUM(id), ':', SUM(up)) FROM boss), (SELECT CONCAT(COUNT(*), ':', SUM(id), ':', SUM(bid)) FROM kid)," +
		" (SELECT CONCAT(COUNT(*), ':', SUM(id), ':', SUM(bid)) FROM heir))")
}

// TestL6_AGroupOverForeignKeys: INT to BIGINT and back, for a parent with a foreign key to itself, and two children, while sessions use
// them. At no moment is an orphan accepted, or a good row refused.
func TestL6_AGroupOverForeignKeys(t *testing.T) {
	sideBySide(t)
	swaps := 2
	if *servers != "" {
		swaps = 10
	}
	onGroups(t, func(b *bench) {
		b.clan(1000)
		alive := b.clanAlive()
		for i := range swaps {
			to := []string{"bigint", "int"}[i%2]
			b.process("", nil, "run", "--together", "--drop-old", b.clanTo(to)).mustEnd()
			if got := b.clanTypes(); got != to {
				b.Fatalf("the types are %s, want %s", got, to)
			}
			b.mustBeClan()
		}
		did, heirs := alive()
		if did < 100 {
			b.Errorf("only %d statements", did)
		}
		if got := b.value("SELECT COUNT(*) FROM heir"); got != fmt.Sprint(1000+heirs) {
			b.Errorf("%s heirs, want %d", got, 1000+heirs)
		}
		b.mustBeClan()
		sums := b.clanSums()
		b.process("", nil, "run", "--together", "--drop-old", b.clanTo("bigint")).mustEnd()
		if got := b.clanSums(); got != sums {
			b.Errorf("the tables have %s, want %s", got, sums)
		}
		if left := b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); left != "3" {
			b.Errorf("%s tables", left)
		}
	})
}

// TestL7_AGroupOverForeignKeysKilled: a run is killed at each kind of statement of its swap. What it leaves refuses what the constraints
// forbid, and takes what they allow; the same command ends it.
func TestL7_AGroupOverForeignKeysKilled(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onGroups(t, func(b *bench) {
		for _, at := range []string{
			"ALTER TABLE `SCHEMA`.`boss_shadow` ADD CONSTRAINT",
			"ALTER TABLE `SCHEMA`.`kid_shadow` ADD CONSTRAINT",
			"RENAME TABLE `SCHEMA`.`boss` TO",
			"ALTER TABLE `SCHEMA`.`boss_old` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`boss` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`heir_old` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`kid` DROP FOREIGN KEY",
			"DROP TABLE IF EXISTS `SCHEMA`.`boss_old`",
		} {
			for _, next := range []string{"run", "cleanup"} {
				b.Run(at+", then "+next, func(t *testing.T) {
					b := setup(t, b.version)
					b.clan(200)
					rule := fault.Rule{At: strings.ReplaceAll(at, "SCHEMA", b.schema)}
					if strings.Contains(at, "ADD CONSTRAINT") {
						rule.After = "LOCK TABLES"
					}
					args := []string{"run", "--together", "--drop-old", "--lock-work=3s", b.clanTo("bigint")}
					if code, last := b.killIf(rule, func() *child { return b.process("", nil, args...) }); code != -1 {
						b.Fatalf("exit code %d: %s", code, last)
					}
					alive := b.clanAlive()
					if next == "cleanup" {
						for _, table := range clan {
							b.nextCleanupOf(table)
						}
						time.Sleep(100 * time.Millisecond)
						alive()
						b.mustBeClan()
						b.exec("DROP TABLE IF EXISTS kid_old, heir_old, boss_old")
						return
					}
					b.process("", nil, args...).mustEnd()
					time.Sleep(100 * time.Millisecond)
					alive()
					b.mustBeClan()
					if got := b.clanTypes(); got != "bigint" {
						b.Errorf("the types are %s", got)
					}
				})
			}
		}
	})
}

// TestL7_TwoSettleTheForeignKeysOfAGroup: two clean up after a group that was killed, and both take off the foreign key of one old table to
// another one. The one that comes second does what is left.
func TestL7_TwoSettleTheForeignKeysOfAGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.clan(200)
		old := "ALTER TABLE `" + b.schema + "`.`heir_old` DROP FOREIGN KEY"
		args := []string{"run", "--together", "--drop-old", "--lock-work=3s", b.clanTo("bigint")}
		if code, last := b.killIf(fault.Rule{At: old}, func() *child { return b.process("", nil, args...) }); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		w := b.wire(fault.Rule{At: old, Call: func() { // another one is faster
			b.exec(old + " " + b.value("SELECT constraint_name FROM information_schema.referential_constraints"+
				" WHERE constraint_schema = DATABASE() AND table_name = 'heir_old'"))
		}})
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		boss := leftovers.Old{Pool: pool, Source: schema.Name{Schema: b.schema, Table: "boss"}, Name: schema.Name{Schema: b.schema, Table: "boss_old"}}
		if err := boss.Drop(b.ctx()); err != nil {
			b.Error(err)
		}
		for _, table := range clan {
			b.nextCleanupOf(table)
		}
		if !bent(w) {
			b.Error("nothing was held up")
		}
		b.mustBeClan()
		b.exec("DROP TABLE IF EXISTS kid_old, heir_old, boss_old")
	})
}

// TestL6_AGroupWhoseLockIsLostSyncsNoRowUnderAForeignKey: the lock of the swap is lost after the new tables have their foreign keys. Then
// no row is synced until all of them are gone: the sync of a boss deletes and inserts it, which would take its heirs along.
func TestL6_AGroupWhoseLockIsLostSyncsNoRowUnderAForeignKey(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.clan(1000)
		alive := b.clanAlive()
		slow := fault.New(b, b.server.Address, fault.Rule{
			After: "LOCK TABLES", At: "ALTER TABLE " + schema.Quote(b.schema) + ".`heir_shadow` DROP FOREIGN KEY", Delay: time.Second})
		lost := fault.New(b, slow.Address, fault.Rule{After: "LOCK TABLES", At: "RENAME TABLE", Cut: true})
		b.address = lost.Address
		b.process("", nil, "run", "--together", "--drop-old", "--lock-work=3s", b.clanTo("bigint")).mustEnd()
		_, heirs := alive()
		if !bent(lost) || !bent(slow) {
			b.Error("no connection was lost, or nothing was slow")
		}
		b.mustBeClan()
		if got := b.value("SELECT COUNT(*) FROM heir"); got != fmt.Sprint(1000+heirs) {
			b.Errorf("%s heirs, want %d", got, 1000+heirs)
		}
	})
}

// TestL6_AKeyToWhichItsOwnTableRefers: a table with a foreign key to itself gets another type at both ends while sessions use it.
// The undo, and its redo, take that back and forth.
func TestL6_AKeyToWhichItsOwnTableRefers(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.clan(1000)
		b.exec("DROP TABLE kid, heir", "RENAME TABLE boss TO t")
		ctx, end := context.WithCancel(b.ctx())
		var all sync.WaitGroup
		for n := range 2 {
			conn := b.conn()
			all.Go(func() {
				for i := 1; ctx.Err() == nil; i++ {
					for _, s := range []string{
						"INSERT INTO t (up) VALUES (%d)", "UPDATE t SET up = %d WHERE v = 0 ORDER BY id DESC LIMIT 1", "UPDATE t SET up = -%d WHERE v = 0 LIMIT 1",
					} {
						query := fmt.Sprintf(s, 1+(i+n)%9)
						_, err := conn.ExecContext(b.ctx(), query)
						if bad := strings.Contains(query, "-"); dbconn.Number(err) != noParent && bad || err != nil && !bad && !dbconn.Contended(err) {
							b.Errorf("%s: %v", query, err)
							return
						}
					}
					rest(time.Millisecond)
				}
			})
		}
		types := func() string {
			return b.value("SELECT GROUP_CONCAT(data_type ORDER BY 1) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name IN ('id', 'up')")
		}
		key := func() string {
			return b.value("SELECT GROUP_CONCAT(constraint_name, ' ', referenced_table_name) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()")
		}
		b.process("", nil, "run", "--undo=1h", "ALTER TABLE "+b.schema+".t MODIFY id BIGINT NOT NULL AUTO_INCREMENT, MODIFY up BIGINT").mustEnd()
		if got := types() + " " + key(); got != "bigint,bigint self t" {
			b.Errorf("changed: %s", got)
		}
		b.undoing().mustEnd()
		if got := types() + " " + key(); got != "int,int self t" {
			b.Errorf("undone: %s", got)
		}
		b.undoing().mustEnd()
		if got := types() + " " + key(); got != "bigint,bigint self t" {
			b.Errorf("redone: %s", got)
		}
		end()
		all.Wait()
		if got := b.value("SELECT COUNT(*) FROM t AS x LEFT JOIN t ON t.id = x.up WHERE t.id IS NULL AND x.up IS NOT NULL"); got != "0" {
			b.Errorf("%s orphans", got)
		}
		b.undoing("--end").mustEnd()
	})
}

// TestL5_AGroupOverForeignKeysIsResumed: a run is killed after its first table is copied. The same command goes on with that work.
func TestL5_AGroupOverForeignKeysIsResumed(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.clan(500)
		args := []string{"run", "--together", "--drop-old", "--lock-work=3s", b.clanTo("bigint")}
		b.process(phaseLine(event.PhaseVerify), (*child).kill, args...).wait()
		next := b.process("", nil, args...)
		next.mustEnd()
		if next.heard("the shadow was altered") || !next.heard("resuming an earlier run") {
			next.log("note")
			b.Error("it began again")
		}
		b.mustBeClan()
		if got := b.value("SELECT GROUP_CONCAT(DISTINCT index_name ORDER BY 1) FROM information_schema.statistics WHERE table_schema = DATABASE()"); got != "bid,named,PRIMARY,up" {
			b.Errorf("the indexes are %s", got)
		}
	})
}
