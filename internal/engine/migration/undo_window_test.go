package migration_test

import (
	"strings"
	"testing"
)

// mustRefuse fails the test unless a command ends with exit code 11 and all of these words.
func (b *bench) mustRefuse(what string, c *child, words ...string) {
	b.Helper()
	code, last := c.wait()
	for _, word := range words {
		if code != 11 || !strings.Contains(last, word) {
			b.Errorf("%s: exit code %d: %s", what, code, last)
			return
		}
	}
}

// dropped drops column u of a small table, with an undo by the old table.
func (b *bench) dropped() {
	b.Helper()
	b.numbered(50)
	b.natively("DROP COLUMN u", "--undo=1h", "--method=shadow").mustEnd()
}

// TestU4_NoValueOfAColumnThatIsAddedAgainIsReplaced: a dropped column comes back while the undo is open. Neither its new
// values nor the old ones hold for all rows, so the second change is refused, and so is the undo after a change by hand.
func TestU4_NoValueOfAColumnThatIsAddedAgainIsReplaced(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.dropped()
		if b.version != "5.7" { // which adds no column by a change that leaves the undo open
			b.mustRefuse("the column again", b.natively("ADD COLUMN u INT"), "another column u", "--end-undo")
			b.mustRefuse("the column again, in other letters", b.natively("ADD COLUMN U INT"), "another column U", "--end-undo")
			b.natively("ADD COLUMN w INT").mustEnd()
			b.mustRefuse("another column by its name", b.natively("CHANGE w u INT"), "another column u", "--end-undo")
		}
		b.exec("ALTER TABLE "+b.schema+".t ADD COLUMN u INT", "UPDATE "+b.schema+".t SET u = 77, v = 5 WHERE id = 3")
		before := b.definition()
		for _, flag := range []string{"--lazy", "--cold", "--hold", "--park"} {
			b.mustRefuse("undo "+flag, b.undoing(flag), "column u was added since", "Rename column u")
		}
		b.mustBeDefined("a refused undo", before)
		if got := b.value("SELECT u FROM " + b.schema + ".t WHERE id = 3"); got != "77" {
			b.Errorf("column u has %s", got)
		}
		b.exec("ALTER TABLE " + b.schema + ".t CHANGE u fresh INT")
		b.undoing("--cold").mustEnd()
		if got := b.value("SELECT CONCAT(u, ' ', v) FROM " + b.schema + ".t WHERE id = 3"); got != "3 5" {
			b.Errorf("after the undo, u and v are %s", got)
		}
		b.undoing("--end").mustEnd()
	})
}

// TestU3_AnUndoThatHasEndedIsRefusedAtOnce: the old table was altered, lost its mark, or is gone. The undo gives the
// reason of the list, and begins nothing.
func TestU3_AnUndoThatHasEndedIsRefusedAtOnce(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.dropped()
		for _, s := range []struct{ statement, why string }{
			{"ALTER TABLE " + b.schema + ".t_old ADD COLUMN x INT", "was altered"},
			{"ALTER TABLE " + b.schema + ".t_old DROP COLUMN x, COMMENT = 'mine'", "has no mark"},
			{"DROP TABLE " + b.schema + ".t_old", "is gone"},
		} {
			b.exec(s.statement)
			if u := b.undoable(); u.State != "ended" || !strings.Contains(u.Why, s.why) {
				b.Errorf("the undo is %s: %s", u.State, u.Why)
			}
			for _, flag := range []string{"--lazy", "--cold"} {
				b.mustRefuse("undo "+flag, b.undoing(flag), s.why, "midstream undo --end")
			}
			if there := b.tables(); strings.Contains(there, "midstream") {
				b.Errorf("%s: the tables are %s", s.statement, there)
			}
		}
		b.undoing("--end").mustEnd()
	})
}
