package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
)

// TestAPlanWarnsOfValuesThatMayNotFit: the plan warns of each kind of values that the new definition may refuse, for a statement and for a
// file, and of no value that always fits. What it warns of is what midstream check looks for.
func TestAPlanWarnsOfValuesThatMayNotFit(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE n (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b VARCHAR(200), d DECIMAL(14,4), e ENUM('x', 'y'), i BIGINT, s TEXT)",
			"INSERT INTO n VALUES (1, 'a', REPEAT('b', 150), 1.5, 'y', 300, 'no number')")
		const refuses = "the new definition refuses rows "
		for _, c := range []struct{ clause, warning string }{
			{"MODIFY b VARCHAR(50)", "too long for column b, varchar(50)"},
			{"MODIFY i TINYINT", "out of range for column i, tinyint"},
			{"MODIFY e ENUM('x')", "with a value of column e that is not in enum('x')"},
			{"MODIFY s INT", "that can't be read as a value of column s, int"},
			{"MODIFY b VARCHAR(200) CHARACTER SET latin1", "that are none of latin1"},
			{"MODIFY a VARCHAR(20) CHARACTER SET utf8mb4", ""},
			{"MODIFY b VARCHAR(300)", ""},
			{"MODIFY i BIGINT UNSIGNED NOT NULL", "out of range for column i, bigint"},
			{"MODIFY d DECIMAL(14,2)", ""},
			{"MODIFY d BIGINT", ""},
			{"MODIFY d DECIMAL(12,2)", "out of range for column d, decimal(12,2)"},
			{"MODIFY d DECIMAL(14,2) UNSIGNED", "out of range for column d, decimal(14,2) unsigned"},
			{"MODIFY d INT", "out of range for column d, int"},
			{"MODIFY e ENUM('x', 'y', 'z')", ""},
			{"ADD COLUMN f VARCHAR(2)", ""},
		} {
			stdout := strings.Join(strings.Fields(r.says("plan", exit.Done, "ALTER TABLE n "+c.clause, nil)), " ")
			if warns := strings.Contains(stdout, refuses); warns != (c.warning != "") || warns && !strings.Contains(stdout, c.warning) {
				r.Errorf("%s: %q is wanted in\n%s", c.clause, c.warning, stdout)
			}
		}
		r.says("check", exit.Unfit, "ALTER TABLE n MODIFY b VARCHAR(50), MODIFY i TINYINT, MODIFY s INT", nil, "too long for column b", "out of range for column i")
		file := filepath.Join(r.TempDir(), "n.sql")
		text := "CREATE TABLE n (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET utf8mb4, b VARCHAR(50), d DECIMAL(14,4), e ENUM('x', 'y'), i BIGINT, s TEXT);\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			r.Fatal(err)
		}
		code, stdout, stderr := midstream(r.T, append(flagsTo(r.T, r.i), "plan", "--database="+r.database, "--to="+file)...)
		if code != exit.Done || strings.Contains(stdout, "column a") {
			r.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		contains(r.T, strings.Join(strings.Fields(stdout), " "), refuses+"too long for column b, varchar(50)", "midstream check --database="+r.database+" --to="+file)
	})
}
