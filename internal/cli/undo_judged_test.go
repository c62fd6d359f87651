package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
)

// TestU3_WhatTheTablesForbidIsNotOpen: an undo for which the server has all is not open if its plan would be refused because of
// what was made by hand since: a trigger on a new column, a foreign key over an index that the undo drops, or a foreign key of
// another table where it cannot move. It is open again without that.
func TestU3_WhatTheTablesForbidIsNotOpen(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE u (id INT PRIMARY KEY, n INT, note INT)", "INSERT INTO u VALUES (1, 1, 5), (2, 2, 6)",
			"CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)")
		r.says("run", exit.Done, "ALTER TABLE u DROP COLUMN note, ADD COLUMN region INT", []string{"--undo=1h", "--method=shadow"})
		u := r.database + ".u"
		list := func(texts ...string) { r.Helper(); r.says("undo", exit.Done, "u", []string{"--list"}, texts...) }
		list(u + ": open until ")
		for _, c := range []struct{ made, gone, why, fix string }{
			{
				"CREATE TRIGGER g BEFORE UPDATE ON u FOR EACH ROW SET NEW.region = NEW.n", "DROP TRIGGER g",
				"trigger g (BEFORE UPDATE) uses column region", "Drop it first",
			},
			{
				"ALTER TABLE u ADD CONSTRAINT fk FOREIGN KEY (n) REFERENCES p (id)", "ALTER TABLE u DROP FOREIGN KEY fk",
				"foreign key fk", "oreign key",
			},
		} {
			r.exec(c.made)
			list(u+": ended, because an undo is refused as the tables are now: ", c.why, "midstream undo "+u+" prints what must be changed first")
			r.says("undo", exit.Done, "u", []string{"--list", "--quiet"}, u+" ended ")
			r.says("undo", exit.Refused, "u", nil, c.why, c.fix)
			r.exec(c.gone)
			list(u + ": open until ")
		}
		r.exec("CREATE TABLE c (id INT PRIMARY KEY, uid INT, CONSTRAINT ck FOREIGN KEY (uid) REFERENCES u (id))")
		if strings.Contains(r.query("SELECT VERSION()"), "MariaDB") {
			list(u+": ended, because an undo is refused as the tables are now: ", "foreign key ck of "+r.database+".c refers to the table")
			r.says("undo", exit.Refused, "u", nil, "Take away what forbids it, such as a foreign key, and make it again after the undo")
		}
		r.exec("DROP TABLE c", "INSERT INTO u VALUES (3, 3, 0)")
		list(u + ": open until ")
		r.exec("CREATE INDEX byhand ON u_old (n)")
		named := "does not bring back the former definition exactly: ADD KEY `byhand` (`n`) of u_old"
		r.says("undo", exit.Done, "u", []string{"--plan"}, named)
		r.says("undo", exit.Done, "u", nil, named)
		r.exec("DROP TABLE u, u_undone, u_undo, p")
	})
}
