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

// TestAPlanFollowsTheStatementsBefore: a statement whose table an earlier one changes is not planned for the table as it is now. The server
// answers for an empty copy with the earlier statements, and refuses what it would refuse then.
func TestAPlanFollowsTheStatementsBefore(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		const django = "ALTER TABLE t ADD COLUMN note VARCHAR(9) DEFAULT 'x' NOT NULL; ALTER TABLE t ALTER COLUMN note DROP DEFAULT"
		r.says("plan", exit.Done, django, nil, "Later: statement 1 changes", "After it, the server takes this one by I",
			"planned ALTER TABLE t ADD COLUMN note", "later ALTER TABLE t ALTER COLUMN note")
		r.says("check", exit.Done, django, nil, "The run checks the rows", "checked ALTER TABLE t ADD COLUMN note", "later ALTER TABLE t ALTER")
		stdout := r.says("plan", exit.Done, django, []string{"--json"})
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var last record.Result
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(last.Tables) != 2 || last.Tables[1].State != "later" {
			r.Errorf("%v: %s", err, lines[len(lines)-1])
		}
		if stdout := r.says("plan", exit.Done, django, []string{"--format=sql"}); strings.Count(stdout, ";\n") != 2 {
			r.Errorf("the SQL is\n%s", stdout)
		}
		r.says("plan", exit.Refused, "ALTER TABLE t ADD COLUMN n1 INT; ALTER TABLE t ADD COLUMN n2 INT; ALTER TABLE t MODIFY n3 BIGINT", nil,
			"later ALTER TABLE t ADD COLUMN n2", "failed ALTER TABLE t MODIFY n3", "the server refuses the statement", "n3")
		r.says("plan", exit.Refused, "ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD INDEX (b)", nil, "failed ALTER TABLE t ADD INDEX (b)")
		for _, others := range []string{
			"CREATE TABLE made (id INT PRIMARY KEY); ALTER TABLE made ADD COLUMN n INT",
			"RENAME TABLE t TO u; ALTER TABLE u ADD COLUMN n INT",
			"CREATE TABLE p (id INT PRIMARY KEY); ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id)",
			"DROP TABLE t; CREATE TABLE t (id INT PRIMARY KEY)",
			"CREATE TABLE p (id INT PRIMARY KEY); CREATE TABLE q (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id))",
		} {
			r.says("plan", exit.Done, others, nil, "Later: statement 1 changes", "later")
		}
		r.are("t")
		if got := r.query(columns); got != "id,a,b" {
			r.Errorf("the columns are %s", got)
		}
		r.says("run", exit.Done, django, []string{"--no-history"}, "done ALTER TABLE t ALTER COLUMN note")
	})
}
