package migration_test

import (
	"fmt"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// TestL8_AShadowWithoutAMark: a shadow whose definition can't bear a further ALTER has no mark from
// its beginning. If a run is killed in any phase, the next one resumes or begins again. The CHECK
// is as the ALTER wrote it, and nothing is left.
func TestL8_AShadowWithoutAMark(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, []string{"9.7"}, func(b *bench) {
		l := b.ledger(ledger.Int(), 3000, ledger.Options{Rate: 200})
		b.start(l)
		phases := []event.Phase{event.PhaseShadow, event.PhaseStart, event.PhaseCopy, event.PhaseVerify, event.PhaseCutover}
		for n, phase := range phases {
			clauses := fmt.Sprintf("ADD COLUMN c%d VARCHAR(9) CHARACTER SET latin1, ADD CHECK (c%[1]d <> 'zé')", n)
			c := b.child(clauses, phaseLine(phase), (*child).kill, "--chunk-time=20ms", "--checkpoint=50ms")
			if code, last := c.wait(); code != -1 {
				b.Fatalf("in phase %s: exit code %d: %s", phase, code, last)
			}
			again := b.child(clauses, "", nil, "--drop-old")
			again.mustEnd()
			clause := fmt.Sprintf(
				"SELECT COUNT(*) FROM information_schema.check_constraints WHERE constraint_schema = '%s' AND check_clause LIKE '%%`c%d` <> _utf8mb4%%'",
				b.schema, n,
			)
			if got := b.value(clause); got != "1" {
				b.Errorf(
					"killed in phase %s: the CHECK of c%d is not as it was written: %s",
					phase,
					n,
					b.value(
						"SELECT GROUP_CONCAT(check_clause) FROM information_schema.check_constraints WHERE constraint_schema = '"+b.schema+"'",
					),
				)
			}
		}
		b.mustMatchLedger(l)
		left := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name LIKE '%!_shadow' ESCAPE '!'"
		if got := b.value(left); got != "0" {
			b.Errorf("%s shadows are left", got)
		}
	})
}

// TestL11_AHelperNextToAConditionThatIsSpelledAgain: a run that needs an index of its own works if a further ALTER only spells an
// expression in another way: MySQL writes _utf8mb4'zz' as _latin1'zz' then.
func TestL11_AHelperNextToAConditionThatIsSpelledAgain(t *testing.T) {
	onThese(t, []string{"9.7", "mariadb-11.8"}, func(b *bench) {
		b.exec("CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, c VARCHAR(9) CHARACTER SET latin1, d INT NOT NULL)",
			"INSERT INTO t (c, d) VALUES ('a', 7), ('é', 8), ('b', 9)")
		b.mustMigrate("ADD CHECK (c <> 'zz'), DROP COLUMN id", onPhase(event.PhaseCatchUp, func() {
			b.exec("UPDATE t SET c = 'new' WHERE d = 8")
		}))
		if got := b.value("SELECT GROUP_CONCAT(c, d ORDER BY d) FROM t"); got != "a7,new8,b9" {
			b.Errorf("the rows are %s", got)
		}
		if left := b.value("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()" +
			" AND table_name = 't' AND column_name NOT IN ('c', 'd')"); left != "0" {
			b.Errorf("%s columns of the run are left", left)
		}
	})
}
