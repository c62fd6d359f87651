package rowchange_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowchange"
	"midstream/internal/mysql/schema"
)

// afterAChunk has the next run do something once, when a chunk is committed.
func (r *rig) afterAChunk(work func()) {
	var once sync.Once
	r.on = func(e event.Event) {
		if _, is := e.(event.ChunkCopied); is {
			once.Do(work)
		}
	}
}

// TestL4_AnAlteredTableStopsTheWalk: if someone alters the table during the walk, no row is deleted without each of its values in the
// archive, and no row is walked in another order. The same command resumes if the key is unchanged, and is refused otherwise.
func TestL4_AnAlteredTableStopsTheWalk(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.options.Rest = schema.Name{Schema: r.name, Table: "rest"}
		r.afterAChunk(func() { r.exec("ALTER TABLE t ADD COLUMN late INT", "UPDATE t SET late = id") })
		const purge = "DELETE FROM t WHERE id < 9000"
		_, err := r.run(r.Context(), purge)
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !strings.Contains(err.Error(), "altered") {
			r.Fatalf("after ADD COLUMN: %v", err)
		}
		r.is("SELECT (SELECT COUNT(*) FROM t) + (SELECT COUNT(*) FROM rest)", "10000")
		r.is("SELECT COUNT(*) FROM t WHERE late IS NULL", "0")
		if _, err := r.run(r.Context(), purge); !errors.Is(err, plan.ErrRefused) {
			r.Errorf("with an archive that lacks the column: %v", err)
		}
		r.exec("ALTER TABLE rest ADD COLUMN late INT")
		r.must(purge)
		r.is("SELECT CONCAT(COUNT(*), ' ', COUNT(late) > 0) FROM rest", "9000 1")
		r.is("SELECT COUNT(*) FROM t WHERE id < 9000", "0")

		r.options = rowchange.Options{}
		for _, alter := range []string{"MODIFY k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
			"DROP PRIMARY KEY, ADD PRIMARY KEY (k2)", "DROP PRIMARY KEY, ADD PRIMARY KEY (k, k2)"} {
			r.exec("DROP TABLE IF EXISTS w", "CREATE TABLE w (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, "+
				"k2 VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, n INT DEFAULT 0)",
				"INSERT INTO w (k, k2) SELECT CONCAT(CHAR(65 + i % 26 + 32 * (i DIV 26 % 2)), i), 10000 - i FROM "+numbers)
			r.afterAChunk(func() { r.exec("ALTER TABLE w " + alter) })
			const update = "UPDATE w SET n = n + 1 WHERE TRUE"
			if _, err := r.run(r.Context(), update); !errors.As(err, &failed) || !failed.Kept || !strings.Contains(err.Error(), "altered") {
				r.Errorf("%s: %v", alter, err)
			}
			if _, err := r.run(r.Context(), update); !errors.Is(err, failure.ErrOtherAlter) {
				r.Errorf("%s: the same command: %v", alter, err)
			}
			r.is("SELECT MAX(n) FROM w", "1")
			r.exec("DROP TABLE w_rows")
		}
	})
}

// TestL4_AnotherTableUnderTheNameStopsTheWalk: with the same definition. The rows of the first table that are left are not forgotten
// silently.
func TestL4_AnotherTableUnderTheNameStopsTheWalk(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.exec("CREATE TABLE fresh LIKE t", "INSERT INTO fresh SELECT * FROM t")
		r.afterAChunk(func() { r.exec("RENAME TABLE t TO aside, fresh TO t") })
		_, err := r.run(r.Context(), "DELETE FROM t WHERE id < 9000")
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !strings.Contains(err.Error(), "altered, renamed") {
			r.Fatalf("it ended with %v", err)
		}
		r.must("DELETE FROM t WHERE id < 9000")
	})
}

// TestL4_ATriggerThatChangesTheKeyIsRefused: such rows would be walked twice, or never.
func TestL4_ATriggerThatChangesTheKeyIsRefused(t *testing.T) {
	onEach(t, func(r *rig) {
		for i, body := range []string{
			"SET NEW.id = OLD.id + 10000", "BEGIN SET @x = 1, NEW.`ID` := OLD.id + 10000; END",
			"IF NEW.n = 1 THEN SET `new` . id = OLD.id + 10000; END IF",
		} {
			r.exec("DROP TABLE IF EXISTS t")
			r.seed()
			r.exec("CREATE TRIGGER moves BEFORE UPDATE ON t FOR EACH ROW " + body)
			if _, err := r.run(r.Context(), "UPDATE t SET n = n + 1 WHERE id < 30000"); !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), "moves") {
				r.Errorf("%d: %v", i, err)
			}
			r.is("SELECT MAX(n) FROM t", "0")
		}
		r.exec("DROP TRIGGER moves", "CREATE TRIGGER looks BEFORE UPDATE ON t FOR EACH ROW SET NEW.text = IF(NEW.id = OLD.id, NEW.id, 'x')")
		r.must("UPDATE t SET n = n + 1 WHERE v IS NOT NULL")
		r.is("SELECT CONCAT(SUM(n), ' ', MAX(n), ' ', SUM(text = CONCAT(id))) FROM t", "9000 1 9000")
	})
}

// TestL11_ANumberAsTheCondition: MySQL 5.7 and 8.0.12 round a number that is the condition itself, so their own statement has other rows.
func TestL11_ANumberAsTheCondition(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, where := range []string{"d", "f * 1", "s", "d + 0.0", "id"} {
			r.exec("DROP TABLE IF EXISTS t, own", "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(5,2), f DOUBLE, s VARCHAR(5))",
				"INSERT INTO t VALUES (1, 0.4, 0.4, '0.4'), (2, 0.6, 0.6, '0.6'), (3, 0, 0, '0'), (4, 1.5, 1.5, '1'), (5, NULL, NULL, NULL)",
				"CREATE TABLE own LIKE t", "INSERT INTO own SELECT * FROM t", "DELETE FROM own WHERE "+where)
			_, err := r.run(r.Context(), "DELETE FROM t WHERE "+where)
			if errors.Is(err, plan.ErrRefused) && strings.Contains(err.Error(), "<> 0") && (strings.Contains(r.Name(), "5.7") || strings.Contains(r.Name(), "8.0")) && where != "id" {
				r.is("SELECT COUNT(*) FROM t", "5")
				continue
			}
			if err != nil {
				r.Errorf("%s: %v", where, err)
			}
			r.is("SELECT GROUP_CONCAT(id) FROM t", r.text("SELECT GROUP_CONCAT(id) FROM own"))
		}
		if _, err := r.plan("DELETE FROM t WHERE d <> 0 AND f"); err != nil {
			r.Error(err)
		}
	})
}
