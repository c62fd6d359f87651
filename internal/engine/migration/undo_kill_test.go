package migration_test

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
)

// stage is one of three commands on table t: a change with --undo, its undo, and the redo.
type stage struct {
	name  string
	start func(b *bench, flags ...string) *child
}

// stages returns the three. cold undoes and redoes over all rows.
func stages(cold bool) []stage {
	undo := func(b *bench, flags ...string) *child {
		if cold {
			flags = append(flags, "--cold")
		}
		return b.undoing(flags...)
	}
	change := func(b *bench, flags ...string) *child { return b.child(alter, "", nil, append(flags, "--undo=1h")...) }
	return []stage{{"change", change}, {"undo", undo}, {"redo", undo}}
}

// pauses are the statements, in their order, before which a command is killed.
func (s stage) pauses() []string {
	first := []string{"CREATE TABLE `%s`.`t_midstream`", "INSERT INTO `%s`.`t_midstream` (id"}
	work := []string{
		"SET beat = ",
		"SET state = CASE id", // from here on it can be resumed
		"INTO `%s`.`%o`",
		"ALTER TABLE `%s`.`%o` COMMENT",
		`"Phase":"cutover"`,
		"LOCK TABLES",
		"RENAME TABLE `%s`.`t`",
		"midstream old of ", // swapped, not marked
		"INSERT INTO `%s`.`t_midstream` (id, beat, run, state) VALUES (4", // marked
	}
	last := []string{"RENAME TO `%s`.`t_undo`"}
	if s.name == "change" {
		return slices.Concat(first, slices.Delete(work, 2, 4), last)
	}
	begins, gone := "INSERT INTO `%s`.`t_undo` (id", "DROP TABLE IF EXISTS `%s`.`t_undo`"
	return slices.Concat(first, []string{begins}, work, []string{gone}, last)
}

// oldTable is the only table with the mark of an old table.
func (b *bench) oldTable() string {
	b.Helper()
	return b.value("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema +
		"' AND table_comment LIKE 'midstream old of %'")
}

// comment is the comment of a table of the test.
func (b *bench) comment(table string) string {
	b.Helper()
	return b.value("SELECT MAX(table_comment) FROM information_schema.tables WHERE table_schema = '" + b.schema +
		"' AND table_name = '" + table + "'")
}

// mustBeUndoable fails the test unless a change, an undo or a redo has left what it should, and nothing else.
// others are the test's own tables, each with a comma.
func (b *bench) mustBeUndoable(after, others string) {
	b.Helper()
	old := b.oldTable()
	tables := strings.Split(others+"t,t_undo,"+old, ",")
	slices.Sort(tables)
	if got, want := unguarded(b.tables()), strings.Join(tables, ","); got != want {
		b.Errorf("%s: the tables are %s, want %s", after, got, want)
	}
	for table, want := range map[string]string{
		old: "midstream old of " + b.schema + ".t; it was: orders", "t_undo": "midstream undo of " + b.schema + ".t", "t": "orders",
	} {
		if got := b.comment(table); got != want {
			b.Errorf("%s: the comment of %s is %q, want %q", after, table, got, want)
		}
	}
}

// TestL7_KilledUndoComesToItsEnd: a change, its undo and the redo are killed at each pause point while writers
// work. The same command again comes to its end, and no row is lost. On a commit, one of the three is killed.
func TestL7_KilledUndoComesToItsEnd(t *testing.T) {
	sideBySide(t)
	for _, cold := range halfInTurn(t, []bool{false, true}) {
		t.Run(map[bool]string{false: "lazy", true: "cold"}[cold], func(t *testing.T) {
			sideBySide(t)
			onTwo(t, func(b *bench) {
				l := b.ledger(ledger.Int(), 1000, ledger.Options{Rate: 200, Writers: 2})
				b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'orders'")
				b.start(l)
				killed := inTurn(t, []string{"change", "undo", "redo"})
				for _, s := range stages(cold) {
					for _, pause := range halfInTurn(t, s.pauses()) {
						if !slices.Contains(killed, s.name) {
							break
						}
						at := strings.NewReplacer("%s", b.schema, "%o", b.oldTable()).Replace(pause)
						after := s.name + " killed at " + at
						code, last := b.killIf(fault.Rule{At: at}, func() *child { return s.start(b) })
						if code != -1 {
							b.Errorf("%s: not killed: exit code %d: %s", after, code, last)
						} else if code, last := s.start(b).wait(); code != 0 {
							b.Fatalf("%s: exit code %d: %s", after, code, last)
						}
						b.mustBeUndoable(after, "")
						b.undoing().mustEnd()
						if s.name == "change" {
							b.undoing("--end").mustEnd()
							b.exec("DROP TABLE " + b.schema + "." + b.oldTable())
						}
					}
					s.start(b).mustEnd()
				}
				b.mustMatchLedger(l)
				b.undoing("--end").mustEnd()
			})
		})
	}
}
