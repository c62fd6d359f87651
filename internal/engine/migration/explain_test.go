package migration_test

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/explain"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
)

// explains makes a change, and returns what it says of the application's queries; nil if it says nothing.
func (b *bench) explains(clauses string) (said *event.Explained) {
	b.Helper()
	b.mustMigrate(clauses, func(e event.Event) {
		if e, is := e.(event.Explained); is {
			said = &e
		}
	})
	return said
}

// indexed makes table t with rows and an index, which queries of an application use.
func (b *bench) indexed() {
	b.Helper()
	b.exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b INT, INDEX by_a (a))",
		"INSERT INTO t (a, b) VALUES (1, 1), (2, 2), (3, 3), (4, 4)")
	for range 10 {
		b.exec("INSERT INTO t (a, b) SELECT a + 4 * id, id FROM t")
	}
	b.exec("ANALYZE TABLE t")
	b.exec("CREATE TABLE other (id INT PRIMARY KEY, a INT)", "INSERT INTO other VALUES (1, 5), (2, 6)")
	for range 3 {
		b.exec("SELECT b FROM t WHERE a = 5", "SELECT o.id FROM other o JOIN t ON t.a = o.a WHERE o.id = 1",
			"UPDATE "+b.schema+".t SET b = b + 1 WHERE a = 7", "SELECT id FROM t AS orders WHERE orders.a = 9",
			"SELECT id FROM t WHERE a = 5 AND '"+strings.Repeat("x", 2000)+"' <> ''")
	}
}

// TestL11_ADroppedIndexThatQueriesUseIsReported: a change that drops an index reports each query that used it, and names how the
// server reads the new table. A query that would fail is reported too. A change that keeps the index reports nothing worse. Texts that the
// server has cut are counted. Servers that keep no texts report nothing.
func TestL11_ADroppedIndexThatQueriesUseIsReported(t *testing.T) {
	onEach(t, func(b *bench) {
		b.indexed()
		kept := b.explains("ADD COLUMN c INT")
		if b.version == "5.7" || isMariaDB(b.version) {
			if kept != nil {
				b.Fatalf("the run says %+v", kept)
			}
			return
		}
		if kept == nil || kept.Checked < 4 || kept.Cut != 1 {
			b.Fatalf("with its index: %+v", kept)
		}
		for _, w := range kept.Worse {
			b.Errorf("with its index: %+v", w)
		}
		b.exec("DROP TABLE t_old")
		dropped := b.explains("DROP INDEX by_a, DROP COLUMN c")
		found := map[string]string{}
		for _, w := range dropped.Worse {
			found[w.Query] = w.How
		}
		for _, query := range []string{"SELECT b FROM t WHERE a = 5", "SELECT o.id FROM other o JOIN t ON t.a = o.a WHERE o.id = 1",
			"UPDATE " + b.schema + ".t SET b = b + 1 WHERE a = 7", "SELECT id FROM t AS orders WHERE orders.a = 9"} {
			after, before, _ := strings.Cut(found[query], ", and before ")
			if !slices.Contains([]string{"reads all rows", "reads all of index PRIMARY"}, after) || // the latter of an UPDATE
				!slices.Contains([]string{"ref by index by_a", "range by index by_a"}, before) {
				b.Errorf("%s: %q", query, found[query])
			}
		}
		if len(found) != 4 {
			b.Errorf("worse are %v", found)
		}
		b.exec("DROP TABLE t_old")
		broken := b.explains("DROP COLUMN b, ADD INDEX by_a (a)")
		fails := 0
		for _, w := range broken.Worse {
			if w.Fails && strings.Contains(w.How, "Unknown column") {
				fails++
			}
		}
		if fails < 2 || len(broken.Worse) != fails {
			b.Errorf("without the column: %+v", broken.Worse)
		}
	})
}

// TestL9_AWorsePlanHoldsTheSwap: with ExplainHolds, a query that would be slower holds the swap until an operator releases it.
func TestL9_AWorsePlanHoldsTheSwap(t *testing.T) {
	b := on(t, "9.7", mysqltest.Server(t, "9.7"))
	b.indexed()
	b.cfg.Explain = explain.Holds
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	p, err := b.plan(pool, "DROP INDEX by_a", plan.Options{Method: plan.MethodShadow})
	if err != nil {
		b.Fatal(err)
	}
	control, held := b.control(), ""
	released := onPhase(event.PhaseHold, func() {
		held = b.value("SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 't' AND index_name = 'by_a'")
		go func() { _, _ = control.CutOver(b.ctx(), false) }() // the run's end shows whether it worked
	})
	if _, err := migration.New(pool, b.binlogServer(), p, b.cfg, control, event.Tee(released, b.told.listen)).Run(b.ctx()); err != nil {
		b.Fatal(err)
	}
	if held != "1" {
		b.Errorf("%q columns of the index are there while the run is held", held)
	}
}
