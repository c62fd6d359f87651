package migration_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/lab/mysqltest"
)

// ddlOnSource are statements that another session may run on the source during a run. void means
// that they make the run's work void.
var ddlOnSource = []struct {
	statement string
	void      bool
}{
	{"TRUNCATE TABLE t", true},
	{"ALTER TABLE t ADD COLUMN mine INT", true},
	{"ALTER TABLE t COMMENT = 'mine'", true},
	{"ALTER TABLE t AUTO_INCREMENT = 77", true},
	{"ALTER TABLE t ENGINE = InnoDB", true},
	{"CREATE INDEX mine ON t (v)", true},
	{"DROP INDEX u ON t", true},
	{"RENAME TABLE t TO mine", true},
	{"RENAME TABLE t TO mine, digits TO t", true},
	{"DROP TABLE t", true},
	{"CREATE TABLE mine (id INT REFERENCES t (id), FOREIGN KEY (id) REFERENCES t (id))", true},
	{"ANALYZE TABLE t", false},
	{"OPTIMIZE TABLE t", false},
	{"CHECK TABLE t", false},
	{"FLUSH TABLES t", false},
	{"CREATE VIEW mine AS SELECT * FROM t", false},
	{"CREATE TABLE mine LIKE t", false},
	{"CREATE TABLE mine SELECT id FROM t", false},
	{"ALTER TABLE digits ADD COLUMN t INT", false},
	{"CREATE TRIGGER mine BEFORE INSERT ON digits FOR EACH ROW SET NEW.d = 1", false},
}

// TestL9_DDLOnTheSource: a statement that makes the work void ends the run, which names the
// statement; a harmless one is ignored.
func TestL9_DDLOnTheSource(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range ddlOnSource {
		t.Run(strings.ReplaceAll(c.statement, " ", "_"), func(t *testing.T) {
			able := versions
			if strings.HasPrefix(c.statement, "CREATE TABLE mine SELECT") {
				able = []string{"9.7"} // GTID servers accept it from 8.0.21
			}
			for _, version := range inTurn(t, able) {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					b := setup(t, version)
					b.numbered(100)
					f := b.feeder()
					_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() { f.exec(c.statement) }))
					if !c.void {
						if err != nil {
							b.Errorf("the run ended: %v", err)
						}
						b.equal()
						return
					}
					b.failedBeforeTheSwap(err, intake.ErrSourceChanged)
					if !strings.Contains(err.Error(), strings.Fields(c.statement)[0]) || !strings.Contains(err.Error(), "no session alters") {
						b.Errorf("the message lacks the statement, or what to do: %v", err)
					}
				})
			}
		})
	}
}

// TestL9_DDLWhileRowsAreCopied: the same, while the run reads rows of the source.
func TestL9_DDLWhileRowsAreCopied(t *testing.T) {
	sideBySide(t)
	for _, statement := range []string{"TRUNCATE TABLE t", "DROP TABLE t", "RENAME TABLE t TO mine", "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t DROP PRIMARY KEY"} {
		t.Run(strings.ReplaceAll(statement, " ", "_"), func(t *testing.T) {
			for _, version := range inTurn(t, versions) {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					b := setup(t, version)
					b.numbered(1000)
					b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 100, 1
					f := b.feeder()
					copied := false
					_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", func(e event.Event) {
						if p, is := e.(event.PhaseEntered); is && p.Phase == event.PhaseCopy && !copied {
							copied = true
							f.exec(statement)
						}
					})
					var failed *failure.Failure
					if !errors.As(err, &failed) || failed.Swapped || !strings.Contains(failed.Left, "nothing is left") {
						b.Fatalf("the error is %v", err)
					}
				})
			}
		})
	}
}

// TestL6_UnloggedWriteIsFound: capture can't see what a session writes with its binlog switched
// off. The comparison finds it.
func TestL6_UnloggedWriteIsFound(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		f := b.feeder()
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
			f.exec("SET SESSION sql_log_bin = 0", "UPDATE t SET v = 7 WHERE id = 777", "SET SESSION sql_log_bin = 1")
		}))
		b.failedBeforeTheSwap(err, failure.ErrMismatch)
		if !strings.Contains(err.Error(), "777") {
			b.Errorf("the row is not named: %v", err)
		}
	})
}
