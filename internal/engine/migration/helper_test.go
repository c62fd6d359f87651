package migration_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestL7_TheIndexOfTheRunGoesInTheSwap: an ALTER drops each index by which the run could find rows. The
// shadow has one until the swap. Whatever ends an attempt, the next one or the next run has it again,
// and the new table does not.
func TestL7_TheIndexOfTheRunGoesInTheSwap(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	const clauses = "ADD COLUMN added INT, DROP PRIMARY KEY"
	const drop = "DROP INDEX `midstream_helper`"
	rules := map[string]fault.Rule{
		"no fault":                   {Nth: 1 << 30},
		"killed before it goes":      {After: "LOCK TABLES", At: drop, Cut: true},
		"killed when it is gone":     {After: "LOCK TABLES", At: "RENAME TABLE", Cut: true},
		"its answer is lost":         {After: "LOCK TABLES", At: drop, Deaf: true},
		"it does not go":             {After: "LOCK TABLES", At: drop, Error: 1205},
		"the swap is refused":        {After: "LOCK TABLES", At: "RENAME TABLE", Error: 1317},
		"the swap loses its session": {After: "LOCK TABLES", At: "RENAME TABLE", Deaf: true},
	}
	for _, name := range halfInTurn(t, slices.Sorted(maps.Keys(rules))) {
		rule := rules[name]
		t.Run(name, func(t *testing.T) {
			sideBySide(t)
			onEach(t, func(b *bench) {
				b.numbered(3000)
				written := b.counting()
				if rule.Cut {
					b.killedBy(rule, clauses)
				} else {
					w := b.wire(rule)
					first := b.child(clauses, "", nil, "--reconnect=0s")
					if code, last := first.wait(); code != 0 && (rule.Error != 0 || rule.Nth != 0) {
						b.Errorf("exit code %d: %s", code, last)
					}
					if rule.Nth == 0 && !bent(w) {
						b.Error("it met no fault")
					}
					b.address = b.server.Address
				}
				if !b.complete(clauses) {
					b.child(clauses, "", nil).mustEnd()
				}
				if got := b.value(
					"SELECT COUNT(*) FROM information_schema.statistics WHERE table_name = 't' AND table_schema = '" + b.schema + "'",
				); got != "1" {
					b.Errorf("the new table has %s indexes", got)
				}
				want := fmt.Sprintf("3000 3000 %d", written())
				if got := b.value("SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT id), SUM(v)) FROM " + b.schema + ".t"); got != want {
					b.Errorf("rows, keys and their sum are %s, and not %s", got, want)
				}
			})
		})
	}
}

// counting adds 1 to v of one row after another of table t, and gives each third one another key, until
// the returned function is called. That returns how often it has added 1.
func (b *bench) counting() (stop func() int) {
	var done sync.WaitGroup
	quit, n := make(chan struct{}), 0
	stop = sync.OnceValue(func() int {
		close(quit)
		done.Wait()
		return n
	})
	done.Go(func() {
		for id := 1; ; id = id%3000 + 1 {
			select {
			case <-quit:
				return
			default:
			}
			statement := "UPDATE %s.t SET v = v + 1 WHERE id IN (%d, -%[2]d)"
			if id%3 == 0 {
				statement = "UPDATE %s.t SET v = v + 1, id = -id WHERE id IN (%d, -%[2]d)"
			}
			changed, err := b.db.Exec(fmt.Sprintf(statement, b.schema, id))
			if err == nil {
				if rows, _ := changed.RowsAffected(); rows == 1 {
					n++
					continue
				}
			}
			b.Errorf("row %d: %v", id, err)
			return
		}
	})
	b.Cleanup(func() { stop() })
	return stop
}
