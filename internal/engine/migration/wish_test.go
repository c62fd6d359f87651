package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// ghosts are names that sort before the table's.
var ghosts = plan.Wish{Shadow: "_t_gho", Old: "_t_del"}

// wished are the flags for these names.
var wished = []string{"--shadow-name=_t_gho", "--old-name=_t_del"}

// shadowOf is the name of a shadow for which _t_gho was wished: servers that swap in two sessions
// can't use that name.
func (b *bench) shadowOf() string {
	if isNew(b.version) {
		return "_t_gho"
	}
	return "t_shadow"
}

// TestL6_WishedNamesLoseNoWrite swaps tables whose names sort before the source's, again and again under
// writers at full speed.
func TestL6_WishedNamesLoseNoWrite(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.wish = ghosts
		b.cfg.NoVerify = true // rows change faster than they are compared
		l := b.ledger(ledger.Int(), 300, ledger.Options{Writers: 6})
		b.start(l)
		for n := range 4 {
			var shadow string
			result := b.mustMigrate(fmt.Sprintf("ADD COLUMN added%d INT", n), onPhase(event.PhaseCopy, func() {
				shadow = b.value(
					"SELECT table_name FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_comment LIKE 'midstream shadow%'",
				)
			}))
			if shadow != b.shadowOf() || result.Old != b.schema+"._t_del" {
				b.Fatalf("the shadow is %s, the old table %s", shadow, result.Old)
			}
			if got := b.tables(); got != "_t_del,t" {
				b.Fatalf("the tables are %s", got)
			}
			b.exec("DROP TABLE " + b.schema + "._t_del")
		}
		b.mustMatchLedger(l)
	})
}

// TestL8_WishedNamesAreFound: a run with names of its own is killed at each of its steps. Cleanup,
// and a run without these wishes, find what it has left.
func TestL8_WishedNamesAreFound(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range []struct {
		name, at string
		// again is what a run without a wish leaves.
		again string
	}{
		{"without a mark yet", "COMMENT = 'midstream shadow of", "digits,t,t_old"},
		{"copied", "ANALYZE TABLE", "digits,t,t_old"},
		{"without a mark any more", "RENAME TABLE `", "digits,t,t_old"},
		{"swapped", "COMMENT = 'midstream old of", "_t_del,digits,t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(1000)
				b.killedAt(c.at, "ADD COLUMN added INT", wished...)
				b.child("ADD COLUMN added INT", "", nil).mustEnd()
				// If a sentinel was left, t_old is taken when the second run makes its plan.
				if got := strings.Replace(b.tables(), "t_old2", "t_old", 1); got != c.again {
					b.Errorf("after a second run the tables are %s", got)
				}
				b.exec(
					"DROP TABLE IF EXISTS "+b.schema+".t_old, "+b.schema+".t_old2, "+b.schema+"._t_del",
					"ALTER TABLE "+b.schema+".t DROP COLUMN added",
				)
				b.killedAt(c.at, "ADD COLUMN added INT", wished...)
				if found := b.cleanedUp(); len(found) == 0 {
					b.Error("nothing was found")
				}
				if got := b.tables(); got != "digits,t" {
					b.Errorf("after a cleanup the tables are %s", got)
				}
			})
		})
	}
}

// cleanedUp removes what runs have left, including old tables. It first marks old tables of
// runs that have swapped, as a second run does.
func (b *bench) cleanedUp() []leftovers.Table {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	name := schema.Name{Schema: b.schema, Table: "t"}
	if _, err := leftovers.Finish(b.ctx(), pool, name, leftovers.Ending{}, func(string) {}); err != nil {
		b.Fatal(err)
	}
	found, err := leftovers.Cleanup(b.ctx(), pool, name, true, func([]leftovers.Table) bool { return true }, func(string) {})
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// TestL8_WishedNamesOfOthers: the tables with the wished names belong to another owner.
func TestL8_WishedNamesOfOthers(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.wish = ghosts
		b.numbered(100)
		b.stranger("_t_del")
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
		var refused *plan.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "_t_del exists and is not Midstream's") {
			b.Errorf("the error is %v", err)
		}
		b.unharmed("_t_del")
		b.exec("DROP TABLE " + b.schema + "._t_del")
		result := b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseVerify, func() { b.stranger("_t_del") }))
		if result.Old != b.schema+".t_old" || b.tables() != "_t_del,digits,t,t_old" {
			b.Errorf("the old table is %s; there are %s", result.Old, b.tables())
		}
		b.unharmed("_t_del")
	})
}
