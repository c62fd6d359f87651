package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// onPair runs a test in a database with the tables t and u.
func onPair(t *testing.T, version string) *statementRig {
	t.Helper()
	i := mysqltest.Server(t, version)
	name, query := table(t, i, 100)
	database := strings.TrimSuffix(name, ".t")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}
	r.exec("CREATE TABLE u (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, note INT)", "INSERT INTO u VALUES (1, 'a', 1), (2, 'b', 2)")
	return r
}

// list lists the undos, of one table or of all that the account sees.
func (r *statementRig) list(table string, texts ...string) string {
	r.Helper()
	if table != "" {
		return r.says("undo", exit.Done, table, []string{"--list"}, texts...)
	}
	return r.says("undo", exit.Done, "--list", nil, texts...)
}

// ofTable is the part of a list that begins with a text: lines that are indented follow it. Other tests have undos on the server too.
func ofTable(list, begins string) string {
	_, rest, _ := strings.Cut(list, begins)
	own := begins
	for line := range strings.Lines(rest) {
		if own != begins && !strings.HasPrefix(line, " ") {
			break
		}
		own += line
	}
	return own
}

// TestAGroupHasOneUndo: the plan, the run and the list name the undo of two tables once. One name takes both back, makes the change again,
// keeps the undo open, and ends it.
func TestAGroupHasOneUndo(t *testing.T) {
	sideBySide(t)
	r := onPair(t, "9.7")
	d := r.database
	both, kept := "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u DROP COLUMN name, ADD COLUMN m INT", []string{"--together", "--undo=24h"}
	way := "with midstream undo " + d + ".t, which takes all tables back in one step, whichever you name; it gives up the values of the new column n"
	out := r.says("plan", exit.Done, both, kept, "possible for 24 h after the swap, "+way, "in one step with that of "+d+".t;")
	if strings.Count(strings.Join(strings.Fields(out), " "), "possible for 24 h") != 1 {
		t.Errorf("the plan has the undo again:\n%s", out)
	}
	out = r.says("run", exit.Done, both, kept, "To undo it, in one step with "+d+".u, until ")
	if strings.Count(out, "To undo it") != 1 {
		t.Errorf("the way back is there again:\n%s", out)
	}
	r.are("t,t_old,t_undo,u,u_old,u_undo")
	for _, named := range []string{"", "u"} {
		list := r.list(named, d+".t, "+d+".u: open until ", "Table "+d+".t", "Old table "+d+".t_old", "Table "+d+".u",
			"New rows since the swap need", `--undo-fill "`+d+`.u: name=''" `+d+".u", "takes it back; these tables are taken back in one step")
		if own := ofTable(list, d+".t, "+d+".u: open until "); strings.Count(list, d+".u: open until") != 1 || strings.Count(own, "Next") != 1 {
			t.Errorf("the list has several undos:\n%s", list)
		}
	}
	r.says("undo", exit.Done, "u", []string{"--list", "--json"}, `"table":"`+d+`.u","together":["`+d+`.t"]`, `"table":"`+d+`.t","together":["`+d+`.u"]`)
	r.says("undo", exit.WrongUsage, "t", []string{"--hold"}, "--hold is for one table")
	r.says("undo", exit.WrongUsage, "t", []string{"--undo-fill=name='x'"}, "it does not name its table: for tables that are taken back in one step, begin with the table")
	r.says("undo", exit.Refused, "t", []string{"--undo-fill=t: name='x'"}, "the change has dropped no column name")
	fill := []string{"--undo-fill=" + d + ".u: name='x'"}
	r.says("undo", exit.Done, "t", append(fill, "--plan"), d+".t on ", d+".u on ", "swapped in one step with "+d+".u")
	r.are("t,t_old,t_undo,u,u_old,u_undo")
	r.exec("INSERT INTO u (id) VALUES (3)")
	out = r.says("undo", exit.Done, "u", fill, "To redo it, in one step with "+d+".u, until ")
	if got := r.query("SELECT GROUP_CONCAT(name ORDER BY id) FROM u"); got != "a,b,x" || strings.Count(out, "To redo it") != 1 {
		t.Errorf("u has the names %s:\n%s", got, out)
	}
	r.says("undo", exit.Done, "t", []string{"--extend=48h"}, d+".t, "+d+".u: open until ", "is the redo")
	if got := r.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_comment LIKE 'midstream undo of " + d + ".%'"); got != "2" {
		t.Errorf("%s undo tables", got)
	}
	r.says("undo", exit.Done, "u", nil, "To undo it, in one step")
	r.says("undo", exit.Done, "u", []string{"--end"}, "gave up the undo of the last change of "+d+".u", "gave up the undo of the last change of "+d+".t")
	r.are("t,t_old,u,u_old")
}

// TestU3_AGroupIsTakenBackCompletelyOrNotAtAll: the old table of one table is renamed, altered or dropped, or its record is.
// The list says so of both, and no table is taken back. After --end, one table may be taken back alone.
func TestU3_AGroupIsTakenBackCompletelyOrNotAtAll(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, spoil := range map[string]string{
		"dropped": "DROP TABLE u_old", "altered": "ALTER TABLE u_old ADD COLUMN x INT", "renamed": "RENAME TABLE u_old TO mine",
		"record dropped": "DROP TABLE u_undo",
	} {
		t.Run(name, func(t *testing.T) {
			sideBySide(t)
			r := onPair(t, "9.7")
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u ADD COLUMN m INT", []string{"--together", "--undo=24h"})
			r.says("run", exit.Refused, "ALTER TABLE u ENGINE=InnoDB", []string{"--method=shadow"}, "undo")
			r.exec(spoil)
			r.says("undo", exit.Done, "t", []string{"--list"}, ": ended, because ")
			for _, table := range []string{"t", "u"} {
				if name == "record dropped" && table == "u" {
					continue // nothing is known of it
				}
				r.says("undo", exit.Refused, table, nil, "the last change cannot be taken back")
			}
			if got := r.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('t', 'u') AND column_name IN ('n', 'm')"); got != "2" {
				t.Errorf("%s new columns", got)
			}
			r.says("undo", exit.Done, "t", []string{"--end"})
			r.says("undo", exit.Done, "t", []string{"--cold", "--map==n"})
			r.says("undo", exit.Done, "t", []string{"--end"})
			if got := r.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_comment LIKE 'midstream undo%'"); got != "0" {
				t.Errorf("%s records are left", got)
			}
			r.exec("DROP TABLE IF EXISTS t_undone, t_old, u_old, mine")
		})
	}
}

// TestAGroupWhoseForeignKeyWouldNotComeBackIsRefused: a statement drops a foreign key between two of the tables, which no undo could bring
// back in the same step. --park is refused where a foreign key binds the tables.
func TestAGroupWhoseForeignKeyWouldNotComeBackIsRefused(t *testing.T) {
	sideBySide(t)
	r := onPair(t, "9.7")
	r.exec("CREATE TABLE v (id INT NOT NULL PRIMARY KEY, uid INT, CONSTRAINT f FOREIGN KEY (uid) REFERENCES u (id))", "INSERT INTO v VALUES (1, 1)")
	kept := []string{"--together", "--undo=24h"}
	r.says("run", exit.Refused, "ALTER TABLE u ADD COLUMN n INT; ALTER TABLE v DROP FOREIGN KEY f", kept, "an undo of the group could not bring foreign key f back")
	r.are("t,u,v")
	r.says("run", exit.Done, "ALTER TABLE u ADD COLUMN n INT; ALTER TABLE v ADD COLUMN n INT", append(kept, "--lock-work=3s"))
	r.says("undo", exit.Refused, "u", []string{"--park"}, "cannot use --park", "whose rows would lose their parents")
	r.says("undo", exit.Done, "v", []string{"--lock-work=3s"})
	r.says("undo", exit.Done, "v", []string{"--end"})
}

// TestTheTablesOfFilesHaveOneUndo: run --to --together --undo keeps one undo for the tables that it has changed.
func TestTheTablesOfFilesHaveOneUndo(t *testing.T) {
	sideBySide(t)
	r := onPair(t, "9.7")
	texts := map[string]string{"t.sql": wanted("b VARCHAR(200), n INT") + ";", "u.sql": "CREATE TABLE u (id INT NOT NULL PRIMARY KEY, name VARCHAR(30) NOT NULL, note INT);"}
	r.says("run", exit.Done, "--to="+files(t, texts), []string{"--together", "--undo=24h"}, "To undo it, in one step with "+r.database+".u")
	r.says("undo", exit.Done, "u", nil, "To redo it, in one step with "+r.database+".u")
	if got := r.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('t', 'u') AND (column_name = 'n' OR column_type = 'varchar(30)')"); got != "0" {
		t.Errorf("not taken back: %s columns", got)
	}
	r.says("undo", exit.Done, "t", []string{"--end"})
}
