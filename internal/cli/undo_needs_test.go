package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU3_AStatementOnATableThatAnUndoNeeds: a RENAME, DROP or TRUNCATE by midstream of a table that the open undo of another table needs.
// The plan of a RENAME warns that it ends that undo; a DROP and a TRUNCATE are refused until they may end it.
func TestU3_AStatementOnATableThatAnUndoNeeds(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		hour := []string{"--undo=1h"}
		for _, c := range []struct {
			change string
			flags  []string
			redo   bool
			needed string // the table that the undo needs
		}{
			{"ALTER TABLE u ADD COLUMN n INT", append(hour, "--method=shadow"), false, "u_old"},
			{"ALTER TABLE u ADD COLUMN n INT", append(hour, "--method=shadow"), true, "u_undone"},
			{"TRUNCATE u", hour, false, "u_old"},
			{"DROP TABLE u", hour, false, "u_old"},
			{"RENAME TABLE u TO w", hour, false, "w"},
			{"RENAME TABLE u TO w, v TO u", hour, false, "w"},
		} {
			r.exec("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)", "CREATE TABLE v (id INT PRIMARY KEY)")
			u := r.database + ".u"
			r.says("run", exit.Done, c.change, c.flags)
			what := "the undo of the last change of " + u + " needs " + r.database + "." + c.needed + " until "
			if c.redo {
				r.says("undo", exit.Done, "u", nil)
				what = "the redo" + what[len("the undo"):]
			}
			why := "this statement ends it: it would not find the table any longer"
			if c.change[0] == 'R' {
				why = "it will be refused until the table has this name again"
			}
			r.says("plan", exit.Done, "RENAME TABLE "+c.needed+" TO x", nil, what, why, "midstream undo "+u)
			lacks(r.T, r.says("plan", exit.Done, "RENAME TABLE "+c.needed+" TO x, x TO "+c.needed, nil), "the last change of")
			for _, statement := range []string{"DROP TABLE ", "TRUNCATE TABLE "} {
				r.says("plan", exit.Refused, statement+c.needed, nil, what, "midstream undo --end "+u+", or --end-undo")
				r.says("plan", exit.Done, statement+c.needed, []string{"--end-undo"}, what, "this statement ends that", "midstream undo --end "+u)
			}
			lacks(r.T, r.says("plan", exit.Done, "DROP TABLE t", nil), "the last change of")
			if c.change[0] == 'R' {
				r.says("run", exit.Done, "RENAME TABLE "+c.needed+" TO x", nil)
				r.says("undo", exit.Done, "u", []string{"--list", "--quiet"}, u+" ended ")
				r.says("run", exit.Done, "RENAME TABLE x TO "+c.needed, nil)
				r.says("undo", exit.Done, "u", []string{"--list", "--quiet"}, u+" open ")
			}
			r.says("run", exit.Done, "DROP TABLE "+c.needed, []string{"--end-undo"})
			r.says("undo", exit.Done, "u", []string{"--list", "--quiet"}, u+" ended ")
			lacks(r.T, r.says("plan", exit.Done, "CREATE TABLE "+c.needed+" (id INT PRIMARY KEY)", nil), "the last change of")
			r.says("undo", exit.Done, "u", []string{"--end"})
			r.exec("DROP TABLE IF EXISTS u, v")
			r.are("t")
		}
		// The name that a table had before a RENAME of several.
		r.exec("CREATE TABLE u (id INT PRIMARY KEY)", "CREATE TABLE v (id INT PRIMARY KEY)", "CREATE TABLE w (id INT PRIMARY KEY)")
		r.says("run", exit.Done, "RENAME TABLE u TO u1, v TO v1", hour)
		r.says("plan", exit.Done, "RENAME TABLE w TO v", nil, "needs the name "+r.database+".v", "it will be refused while another table has the name")
		r.says("plan", exit.Done, "CREATE TABLE v (id INT PRIMARY KEY)", nil, "needs the name "+r.database+".v")
		r.says("undo", exit.Done, "u", nil)
		r.says("plan", exit.Done, "RENAME TABLE w TO v1", nil, "the redo of the last change of", "needs the name "+r.database+".v1")
		r.says("undo", exit.Done, "u", []string{"--end"})
		r.exec("DROP TABLE u", "DROP TABLE v", "DROP TABLE w")
	})
}
