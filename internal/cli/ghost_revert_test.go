package cli

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestGhostReverts: a run with --checkpoint keeps what --revert needs and reports it. --revert takes the change back while
// somebody writes, and so does a second one with the redo.
func TestGhostReverts(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "5.7") {
		t.Run(version, func(t *testing.T) {
			d := beginDropIn(t, version, 3000)
			schema := strings.TrimSuffix(d.quoted(), "`t`")
			old, undone := "_t_del", "_t_rev_del"
			if version == "5.7" { // which swaps in the order of names
				old, undone = "t_old", "t_undone"
			}
			d.ghosts(1, []string{"--revert", "--old-table=_t_del", "--execute"}, "FATAL ", "No checkpoint found, unable to revert: ")
			d.ghosts(
				0, []string{ptAlter, "--execute", "--checkpoint"}, "# Kept until ", "the old table "+schema+"`"+old+"`",
				"# To revert: the same command with --revert --old-table="+old+"\n", "# To give that up: midstream undo ", "# Done\n",
			)
			d.ghosts(1, []string{"--revert", "--old-table=_other_del", "--execute"}, "but the last change of "+d.quoted()+" left "+schema+"`"+old+"`")
			d.ghosts(
				0, []string{ptAlter, "--revert", "--old-table=" + old, "--verbose"}, "--alter was provided with --revert, it will be ignored",
				"INFO Reverting "+d.quoted()+" from "+schema+"`"+old+"`", "# Nothing was changed: --execute was not said\n# Done\n",
			)
			d.is(inOrder(old, "t", "t_undo"), "1")
			d.ghosts(
				0, []string{ptAlter, "--revert", "--old-table=" + old, "--verbose", "--execute", "--checkpoint", "--initially-drop-ghost-table"},
				"Ghost table is "+schema+"`"+old+"`\n", "INFO Done reverting "+d.quoted(), "--old-table="+undone+"\n", "# Done\n",
			)
			d.is(inOrder(undone, "t", "t_undo"), "0")
			d.ghosts(0, []string{"--revert", "--old-table=" + undone, "--execute"}, "to take back the change", "# Done\n")
			d.is(inOrder(old, "t", "t_undo"), "1")
			d.ghosts(0, []string{"--revert", "--old-table=" + old, "--execute", "--ok-to-drop-table"}, "# Done\n")
			d.is("t", "0")
			d.settle()
		})
	}
}

// inOrder are names of tables as tables has them.
func inOrder(names ...string) string {
	slices.Sort(names)
	return strings.Join(names, ",")
}

// is fails unless these tables are there, and the table has so many columns of the change.
func (d *drop) is(tables, added string) {
	d.t.Helper()
	if got := d.tables(); got != tables {
		d.t.Errorf("tables %s instead of %s", got, tables)
	}
	if got := d.query(
		"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'added'",
	); got != added {
		d.t.Errorf("%s columns added instead of %s", got, added)
	}
}

// TestGhostRevertsNoneButOurs: an old table of gh-ost itself, or of a run without --checkpoint, is refused, and a later
// run reports that it ends what an earlier one has kept.
func TestGhostRevertsNoneButOurs(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "9.7", 500)
	database, _, _ := strings.Cut(d.name, ".")
	revert := []string{"--revert", "--old-table=_t_del", "--execute"}
	executing(t, d.i, database)("CREATE TABLE _t_ghk (a INT)", "CREATE TABLE _t_del LIKE t")
	d.ghosts(1, revert, "`_t_ghk` is a checkpoint table of gh-ost itself", "revert that change with the gh-ost that made it")
	executing(t, d.i, database)("DROP TABLE _t_ghk, _t_del")
	d.ghosts(0, []string{ptAlter, "--execute"}, "# Done\n")
	d.ghosts(1, revert, "no run with --checkpoint has left ")
	again := "--alter=DROP INDEX added, DROP COLUMN added"
	d.ghosts(0, []string{again, "--execute", "--checkpoint", "--initially-drop-old-table"}, "# Kept until ")
	d.ghosts(0, []string{"--alter=FORCE", "--execute", "--timestamp-old-table"}, "WARNING the last change of "+d.quoted()+" can no longer be reverted after this run")
	d.ghosts(1, revert, "no run with --checkpoint has left ")
	instant := []string{"--alter=ADD COLUMN last INT", "--execute", "--checkpoint", "--attempt-instant-ddl"}
	d.ghosts(0, instant, "which the server made itself: midstream undo ", "# Done\n")
	d.ghosts(1, revert, "unable to revert: the server made the last change of "+d.quoted()+" itself", "midstream undo ")
	d.settle()
	d.ends("undo", "--end")
}
