package cli

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestSeveralTablesAreChangedTogether: plan and run take several statements, name each table in what they print, and name everything that
// is wrong with the command line at once.
func TestSeveralTablesAreChangedTogether(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database := strings.TrimSuffix(name, ".t")
	exec := executing(t, i, database)
	exec("CREATE TABLE u (id INT NOT NULL PRIMARY KEY)")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: exec}
	both := "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE `u` ADD COLUMN `a;b` INT COMMENT ';'"
	together := []string{"--together"}

	r.says("run", exitUsage, "ALTER TABLE t ADD COLUMN n INT", append(together, "--key=x", "--method=shadow", "--undo=1h"),
		"--together needs several statements", "--together and --method exclude each other", "--together excludes --undo",
		"--key x: it does not name its table: with --together, begin with the table")
	r.says("run", exitUsage, both+"; ALTER TABLE t ADD COLUMN m INT; DROP TABLE v", together,
		database+".t is altered twice", "--together takes ALTER TABLE only, and not DROP TABLE")
	r.says("plan", exitUsage, both, append(together, "--keep=v: id > 1"), database+".v is not among the tables that are changed together")
	r.says("plan", exitDone, both, append(together, "--keep=u: id > 1", "--set=t: n=1", "--old-name=u: before"),
		"only those with id > 1", database+".before", "Values of column n: 1")
	r.says("plan", exitDone, both, together, database+".t on ", database+".u on ", "Together", "swapped in one step with "+database+".u", "--together excludes --undo")
	r.are("t,u")
	r.says("run", exitRefused, "ALTER TABLE t ADD COLUMN id INT; ALTER TABLE u ADD COLUMN n INT", together, "cannot change "+database+".t: 1 problem", "the table already has that name")
	r.says("plan", exitRefused, "ALTER TABLE t DROP COLUMN no; ALTER TABLE u DROP COLUMN no", together, database+".t, "+database+".u")
	r.are("t,u")

	r.exec("ALTER TABLE u ADD COLUMN v INT", "INSERT INTO u VALUES (1, 1000)")
	r.says("check", exitUnfit, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u MODIFY v TINYINT", together, database+".u unfit: 1 row out of range")
	r.are("t,u")

	out := r.says("run", exitDone, both, append(together, "--json"), `{"table":"`+database+`.u","event":"swapped"`, `"state":"changed"`)
	for _, table := range []string{"t", "u"} {
		contains(t, out, fmt.Sprintf(`{"table":"%s.%s","place":"","state":"changed","method":"shadow","old":"%[1]s.%[2]s_old"`, database, table))
	}
	r.are("t,t_old,u,u_old")
	if out = r.says("run", exitDone, strings.ReplaceAll(strings.ReplaceAll(both, "n INT", "q INT"), "a;b", "d"), append(together, "--quiet", "--drop-old")); strings.Contains(out, "ready for the swap") {
		t.Errorf("with --quiet: %s", out)
	}
	out = r.says("run", exitDone, strings.ReplaceAll(strings.ReplaceAll(both, "n INT", "m INT"), "a;b", "c"), together)
	for _, table := range []string{"t", "u"} {
		contains(t, out, database+"."+table+"  5/5 cut over  locked for")
	}
}
