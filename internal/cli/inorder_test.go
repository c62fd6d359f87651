package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/record"
)

// TestStatementsInOrder: several statements are done in order, the first that fails ends the command, and it reports what is done and what
// is not.
func TestStatementsInOrder(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Refused, "ALTER TABLE t ADD COLUMN n1 INT; ALTER TABLE t ADD INDEX (nosuch); CREATE TABLE never (id INT PRIMARY KEY)", nil,
			"Statement 2 of 3", "done ALTER TABLE t ADD COLUMN n1 INT failed ALTER TABLE t ADD INDEX (nosuch) not run CREATE TABLE never",
			"the ALTER adds an index on column nosuch")
		r.are("t")
		path := filepath.Join(r.TempDir(), "changes.sql")
		text := "-- a comment; with a semicolon\nALTER TABLE t ADD COLUMN n2 VARCHAR(9) DEFAULT ';';\n\nCREATE TABLE made (id INT PRIMARY KEY);\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.Fatal(err)
		}
		args := append(flagsTo(r.T, r.i), "run", "--database="+r.database, "--file="+path, "--json", "--no-history")
		code, stdout, stderr := midstream(r.T, args...)
		var last record.Result
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || code != exit.Done || len(last.Tables) != 1 || last.Tables[0].State != "changed" {
			r.Errorf("exit code %d, %v, %+v\n%s", code, err, last.Tables, stderr)
		}
		r.are("made,t")
		if got := r.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name IN ('n1', 'n2')"); got != "2" {
			r.Errorf("%s columns", got)
		}
		r.says("plan", exit.Done, "ALTER TABLE t ADD COLUMN n3 INT; ALTER TABLE made ADD COLUMN n3 INT", nil, "planned ALTER TABLE t", "planned ALTER TABLE made")
		r.says("check", exit.Done, "ALTER TABLE t ADD COLUMN n3 INT; ALTER TABLE made ADD COLUMN n3 INT", nil, "checked ALTER TABLE made")
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n3 INT; ALTR TABLE made", []string{"--keep=id > 1"}, "statement 2: ", "--keep is for one statement")
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n3 INT", []string{"--file=" + path}, "--file excludes statements")
		r.are("made,t")
	})
}
