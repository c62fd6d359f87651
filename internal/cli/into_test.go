package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// TestL8_ATableGoesIntoAnotherSchema: with a change, with a view, and without a change. The names have a quote and a dot, commands of the
// run find it by the old name, and cleanup drops the old table once the new one has another name.
func TestL8_ATableGoesIntoAnotherSchema(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		other := r.database + "z`.'x"
		quoted := "`" + strings.ReplaceAll(other, "`", "``") + "`"
		into := "--into=" + quoted + ".`or.ders`"
		r.exec("CREATE DATABASE " + quoted + " CHARACTER SET latin1")
		kinds := func(want string) {
			r.Helper()
			got := r.query("SELECT IFNULL(GROUP_CONCAT(table_schema = DATABASE(), ' ', table_name, ' ', table_type ORDER BY table_schema = DATABASE(), table_name), '') " +
				"FROM information_schema.tables WHERE table_schema IN (DATABASE(), '" + strings.ReplaceAll(other, "'", "''") + "')")
			if got != want {
				r.Errorf("there are %s, want %s", got, want)
			}
		}
		r.exec("CREATE VIEW recent AS SELECT id FROM t")
		r.says("plan", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{into}, "New name", "t is gone after the swap", "view "+r.database+".recent names", "error 1146")
		r.says("plan", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{into, "--json"}, `"into":"`, `"into_view":false`, `"method":"shadow"`)
		seen := filepath.Join(r.TempDir(), "into")
		hook := filepath.Join(r.TempDir(), "hook")
		if err := os.WriteFile(hook, []byte("#!/bin/sh\nprintf %s \"$MIDSTREAM_INTO\" > "+seen), 0o700); err != nil { //nolint:gosec // a program
			r.Fatal(err)
		}
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{into, "--hook=after-swap=" + hook}, "altered "+r.database+".t (the table is ")
		if got, err := os.ReadFile(seen); err != nil || string(got) != escape.Line(schema.Name{Schema: other, Table: "or.ders"}.Dotted()) {
			r.Errorf("the hook got %q, %v; want the new name", got, err)
		}
		kinds("0 or.ders BASE TABLE,1 recent VIEW,1 t_old BASE TABLE")
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"}, "Dropped 1 table")
		kinds("0 or.ders BASE TABLE,1 recent VIEW")
		r.says("run", exit.Done, "RENAME TABLE "+quoted+".`or.ders` TO "+r.database+".t", []string{"--json"}, `"into":""`)
		r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN n", []string{into, "--into-view", "--method=shadow", "--drop-old"}, "and the old name a view")
		kinds("0 or.ders BASE TABLE,1 recent VIEW,1 t VIEW")
		r.exec("INSERT INTO t (id) VALUES (1000)", "UPDATE t SET id = 1001 WHERE id = 1000")
		if got := r.query("SELECT COUNT(*) FROM recent WHERE id = 1001"); got != "1" {
			r.Errorf("another view has %s new rows", got)
		}
		r.exec("DROP VIEW t", "CREATE PROCEDURE uses() SELECT * FROM t", "CREATE PROCEDURE not_this() SELECT * FROM tt")
		lacks(r.T, r.says("plan", exit.Done, "RENAME TABLE "+quoted+".`or.ders` TO "+r.database+".t", nil, "OK to run"), "uses names")
		r.says("run", exit.Done, "RENAME TABLE "+quoted+".`or.ders` TO "+r.database+".t", nil)
		lacks(r.T, r.says("plan", exit.Done, "RENAME TABLE t TO tt", nil, "procedure "+r.database+".uses names", "Change it afterwards"), "not_this")
		lacks(r.T, r.says("plan", exit.Done, "RENAME TABLE t TO tt, tt TO t", nil), "uses names")
		r.exec("DROP PROCEDURE uses", "DROP PROCEDURE not_this")
		code, stdout, stderr := midstream(r.T, append(flagsTo(r.T, r.i), "run", "--database="+r.database, "--table=t", into, "--json")...)
		if code != exit.Done || !strings.Contains(stdout, `.`+"`or.ders`"+`","old"`) {
			r.Errorf("without a change: %d\n%s\n%s", code, stdout, stderr)
		}
		kinds("0 or.ders BASE TABLE,1 recent VIEW")
		r.exec("DROP VIEW recent", "RENAME TABLE "+quoted+".`or.ders` TO t", "DROP DATABASE "+quoted)
	})
}

// TestIntoIsRefused: what the swap cannot take to another name, and names that it cannot use.
func TestIntoIsRefused(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, t INT, CONSTRAINT into_p FOREIGN KEY (t) REFERENCES p (id))",
			"CREATE TABLE g (id INT PRIMARY KEY)", "CREATE TRIGGER into_g BEFORE INSERT ON g FOR EACH ROW SET NEW.id = NEW.id")
		into := "--into=" + r.database + ".zz"
		for _, c := range []struct {
			alter string
			flags []string
			says  string
		}{
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=nosuch_database.t"}, "no such database: nosuch_database"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=" + r.database + ".t"}, "that is the table itself"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=" + r.database + ".p"}, "p exists (base table)"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=" + r.database + ".t_shadow"}, "for another table"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=" + r.database + "." + strings.Repeat("z", 65)}, "more than 64 characters"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--into=mysql.t"}, "the server's own schema"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{into, "--undo=1h"}, "an undo gives a table its old definition"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{into, "--method=instant"}, "not the method instant"},
			{"ALTER TABLE p ADD COLUMN n INT", []string{into}, "foreign keys"},
			{"ALTER TABLE c ADD COLUMN n INT", []string{into}, "foreign keys"},
			{"ALTER TABLE t ADD COLUMN n INT, ADD CONSTRAINT x FOREIGN KEY (n) REFERENCES p (id)", []string{into}, "foreign keys"},
			{"ALTER TABLE g ADD COLUMN n INT", []string{into}, "error 1435"},
		} {
			r.says("run", exit.Refused, c.alter, c.flags, c.says)
		}
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT", []string{"--into-view"}, "--into-view needs --into")
		wanted := filepath.Join(r.TempDir(), "t.sql")
		if err := os.WriteFile(wanted, []byte("CREATE TABLE t (id INT PRIMARY KEY)"), 0o600); err != nil {
			r.Fatal(err)
		}
		r.says("run", exit.WrongUsage, "--table=t", []string{into, "--to=" + wanted}, "--into needs a statement")
		r.says("run", exit.WrongUsage, "DROP TABLE t", []string{into}, "--into is for ALTER TABLE")
		r.says("run", exit.WrongUsage, "RENAME TABLE t TO u", []string{into}, "--into is for ALTER TABLE")
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT", []string{"--into=zz"}, "database of zz is missing")
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE g ADD COLUMN n INT", []string{"--together", into}, "with --together, begin with the table")
		r.says("run", exit.Refused, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE p ADD COLUMN n INT",
			[]string{"--together", "--into=" + r.database + ".t: " + r.database + ".zz"}, "several tables that are swapped in one step")
		r.exec("DROP TABLE c, p, g")
	})
}
