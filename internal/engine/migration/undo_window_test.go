package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/planning"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/undos"
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
				b.mustRefuse("undo "+flag, b.undoing(flag), s.why, " --end "+b.schema+".t removes the record")
			}
			if there := b.tables(); strings.Contains(there, "midstream") {
				b.Errorf("%s: the tables are %s", s.statement, there)
			}
		}
		b.undoing("--end").mustEnd()
	})
}

// TestU4_EachLaterChangeThatAnUndoTakesBackIsNamed: what changes since have added to the table or taken from it is in the
// undo's plan and in the list. Without such a change both have nothing.
func TestU4_EachLaterChangeThatAnUndoTakesBackIsNamed(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY, v INT DEFAULT 3, u INT, s VARCHAR(9) CHARACTER SET latin1," +
			" g INT AS (v + 1) STORED, KEY k (s), CHECK (v < 9999)) COMMENT 'of the application' ROW_FORMAT=DYNAMIC" +
			" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))")
		b.natively("DROP COLUMN u, ADD COLUMN added INT, ADD KEY (added)", "--undo=1h", "--method=shadow").mustEnd()
		later := func() (listed, risks string) {
			b.Helper()
			pool, err := b.open(b.ctx())
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			name := schema.Name{Schema: b.schema, Table: "t"}
			server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
			list, err := undos.List(b.ctx(), server, b.TempDir(), &name)
			if err != nil || len(list) != 1 {
				b.Fatalf("the list is %v: %v", list, err)
			}
			for _, r := range b.planOfUndo(planning.Undo{Cold: true}).Risks {
				if strings.Contains(r.What, "later") {
					risks += r.What + "; "
				}
			}
			return strings.Join(list[0].Later, ", "), risks
		}
		if listed, planned := later(); listed != "" || planned != "" {
			b.Errorf("without a later change the list has %s, and the plan %s", listed, planned)
		}
		b.exec("ALTER TABLE "+b.schema+".t ADD COLUMN z INT, ADD UNIQUE KEY za (v, id), DROP KEY k, ALTER v SET DEFAULT 7",
			"ALTER TABLE "+b.schema+".t ADD PARTITION (PARTITION p2 VALUES LESS THAN (300))")
		listed, planned := later()
		if !strings.Contains(planned, "given up: z;") {
			b.Errorf("the plan does not name the values of z: %s", planned)
		}
		for _, word := range []string{"ADD COLUMN `z`", "`za`", "DROP INDEX `k`", "MODIFY COLUMN `v`", "p2"} {
			if !strings.Contains(listed, word) || !strings.Contains(planned, word) {
				b.Errorf("%s is missing in the list, %s, or in the plan, %s", word, listed, planned)
			}
		}
		b.undoing("--end").mustEnd()
	})
}
