package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// TestL2_UniqueValuesOfEqualRows: the rows of a table are followed by an index that is not unique. They hand over values of a unique key
// that may be NULL, and of one that the ALTER adds.
func TestL2_UniqueValuesOfEqualRows(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE t (v INT NOT NULL, u INT, y INT NOT NULL, x INT NOT NULL DEFAULT 0, UNIQUE KEY u (u), KEY by_value (v), KEY y (y))",
			"INSERT INTO t (v, u, y) VALUES (0, NULL, 0), (0, 1, 1)")
		for n := 2; n < 2000; n *= 2 {
			b.exec(fmt.Sprintf("INSERT INTO t (v, u, y) SELECT (y + %[1]d) %% 97, u + %[1]d, y + %[1]d FROM t", n))
		}
		b.cfg.RowCopy.MaxRows = 50
		end := make(chan struct{})
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				random, conn := rand.New(rand.NewPCG(uint64(n), 3)), b.conn()
				for {
					select {
					case <-end:
						return
					default:
					}
					one, other := random.IntN(2000), random.IntN(2000)
					query := strings.NewReplacer(":one", fmt.Sprint(one), ":other", fmt.Sprint(other)).Replace([]string{
						"UPDATE t SET y = CASE y WHEN :one THEN :other ELSE :one END WHERE y IN (:one, :other) AND :one <> :other " +
							"AND (SELECT c FROM (SELECT COUNT(*) AS c FROM t WHERE y IN (:one, :other)) AS both_of) = 2",
						"UPDATE t SET v = :other % 97 WHERE y = :one", "UPDATE IGNORE t SET u = :other WHERE y = :one", "UPDATE t SET u = NULL WHERE y = :one",
						"UPDATE t SET x = x + 1 WHERE v = :one % 97 LIMIT 1",
					}[random.IntN(5)])
					if strings.Contains(query, "CASE") && n > 0 { // one writer keeps y unique
						continue
					}
					if _, err := conn.ExecContext(b.ctx(), query); err != nil && !dbconn.Contended(err) {
						b.Errorf("%s: %v", query, err)
						return
					}
					rest(0)
				}
			})
		}
		stop := sync.OnceFunc(func() { close(end); all.Wait() })
		defer stop()
		b.mustMigrate("ADD PRIMARY KEY (y), ADD COLUMN z INT", onPhase(event.PhaseCutover, stop))
		b.equalRows("v, u, y, x", "t", "t_old")
	})
}

// TestL11_WishesForEqualRows: --keep and --set, computed columns and a default, and an ALTER that drops the index, for a table that has
// only an index that is not unique.
func TestL11_WishesForEqualRows(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		value := notUnique[0].value
		for name, one := range map[string]struct{ clauses, keep, set, want string }{
			"the index goes":  {clauses: "DROP KEY by_value, ADD COLUMN d INT NOT NULL DEFAULT 5", want: "SELECT v, x, note, 5 AS d FROM t_old"},
			"another column":  {clauses: "DROP KEY by_value, ADD KEY by_both (v, x)", want: "SELECT v, x, note, 0 AS d FROM t_old"},
			"computed":        {clauses: "ADD COLUMN d INT AS (v + x) STORED", want: "SELECT v, x, note, v + x AS d FROM t_old"},
			"virtual":         {clauses: "ADD COLUMN d INT AS (v - x) VIRTUAL, ADD KEY (d)", want: "SELECT v, x, note, v - x AS d FROM t_old"},
			"the type":        {clauses: "MODIFY v BIGINT NOT NULL, CHANGE x y BIGINT NOT NULL DEFAULT 0", want: "SELECT v, x, note, 0 AS d FROM t_old"},
			"another charset": {clauses: "CONVERT TO CHARACTER SET utf16", want: "SELECT v, x, note, 0 AS d FROM t_old"},
			"--keep":          {clauses: "ADD COLUMN d INT DEFAULT 1", keep: "v % 3 > 0", want: "SELECT v, x, note, 1 AS d FROM t_old WHERE v % 3 > 0"},
			"--set":           {clauses: "ADD COLUMN d INT", set: "x + 7", want: "SELECT v, x, note, x + 7 AS d FROM t_old"},
		} {
			b.withoutUniqueKey(notUnique[0].columns, notUnique[0].index, value, 600, 2000)
			b.cfg.RowCopy.MaxRows, b.filter, b.set = 100, one.keep, nil
			if one.set != "" {
				b.set = plan.Settings{"d": one.set}
			}
			stop := sync.OnceFunc(b.valueWriters(value, 600))
			result, err := b.migrate(b.ctx(), one.clauses, onPhase(event.PhaseCutover, stop))
			stop()
			if err != nil || result.Repaired > 0 {
				b.Errorf("%s: %d rows differed, and the error is %v", name, result.Repaired, err)
				b.exec("DROP TABLE t")
				continue
			}
			columns := "v, x, note, 0 AS d"
			switch {
			case name == "the type":
				columns = "v, y AS x, note, 0 AS d"
			case strings.Contains(one.clauses, "COLUMN d"):
				columns = "v, x, note, d"
			}
			b.equalRows("v, x, note, d", "(SELECT "+columns+" FROM t) AS one", "("+one.want+") AS other")
			if got := b.value("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '" + b.schema + "' AND TABLE_NAME = 't' AND INDEX_NAME LIKE 'midstream%'"); got != "0" {
				b.Errorf("%s: an index of the run is left", name)
			}
			b.exec("DROP TABLE t, t_old")
		}
	})
}

// TestL6_ARowTooManyAmongEqualOnesIsFound: equal rows do not cancel each other in the comparison.
func TestL6_ARowTooManyAmongEqualOnesIsFound(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, fault := range []string{
			"INSERT INTO t_shadow (v, x) SELECT v, x FROM (SELECT v, x FROM t_shadow WHERE v = 7 LIMIT 2) AS two", "DELETE FROM t_shadow WHERE v = 7 LIMIT 2",
			"UPDATE t_shadow SET d = 8 WHERE v = 7 LIMIT 1", "UPDATE t_shadow SET note = NULL WHERE v = 7 LIMIT 2", "UPDATE t_shadow SET x = x + 1 WHERE v = 7 LIMIT 2",
		} {
			b.exec("DROP TABLE IF EXISTS t")
			b.withoutUniqueKey("v INT NOT NULL", "v", "%d", 100, 1000)
			_, err := b.migrate(b.ctx(), "ADD COLUMN d INT DEFAULT 4", onPhase(event.PhaseVerify, func() { b.exec(fault) }))
			if err == nil || !strings.Contains(err.Error(), "row v=7: ") {
				b.Errorf("%s: the error is %v", fault, err)
			}
		}
	})
}

// TestL9_ATableWithoutAnIndexHasTwoWays: it is refused, with two statements. After each of them it can be changed.
func TestL9_ATableWithoutAnIndexHasTwoWays(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for way := range 2 {
			b.exec("CREATE TABLE t (id VARCHAR(9), at DATETIME NOT NULL, x INT)", "INSERT INTO t VALUES ('a', '2024-01-01', 1), ('a', '2024-01-01', 1), (NULL, '2024-01-02', 2)")
			_, err := b.migrate(b.ctx(), "ADD COLUMN n INT")
			var refused *plan.Refused
			if !errors.As(err, &refused) {
				b.Fatal(err)
			}
			statements := regexp.MustCompile(`ALTER TABLE [^;]*`).FindAllString(refused.Blocking[0].Fix, -1)
			if len(statements) != 2 || !strings.Contains(statements[0], "PRIMARY KEY") || !strings.Contains(statements[1], "LOCK=NONE") {
				b.Fatalf("%q", statements)
			}
			b.exec(statements[way])
			b.mustMigrate("ADD COLUMN n INT")
			b.equalRows("id, at, x", "t", "t_old")
			if way == 1 {
				b.exec("DROP TABLE t_old")
				b.mustMigrate("ADD COLUMN m INT, DROP KEY followed")
			}
			b.exec("DROP TABLE t, t_old")
		}
	})
}
