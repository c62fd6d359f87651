package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// TestACheckHasAVerdict: a check whose rows all fit ends with a verdict, and none names itself as what to do next.
func TestACheckHasAVerdict(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	for _, clauses := range []string{"MODIFY a INT NOT NULL, ADD UNIQUE u (a, id)", "ADD COLUMN c INT"} {
		code, stdout, stderr := midstream(t, append([]string{"check", "--no-color", "ALTER TABLE " + name + " " + clauses}, flagsTo(t, i)...)...)
		if code != exit.Done {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, "\nDone in ", ": every row of "+name+" fits the altered table; nothing was changed.\n")
		lacks(t, stdout, "midstream check")
	}
	_, stdout, _ := midstream(t, append([]string{"plan", "ALTER TABLE " + name + " ADD UNIQUE u (a)"}, flagsTo(t, i)...)...)
	contains(t, stdout, "midstream check")
}

// TestCheckTellsOfRows: what doesn't fit is listed with all that is needed to mend it, as text and
// as JSON, and nothing is left; a table that fits passes.
func TestCheckTellsOfRows(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 1000)
	database, _, _ := strings.Cut(name, ".")
	executing(
		t, i, database,
	)(
		"CREATE TABLE s SELECT ROW_NUMBER() OVER (ORDER BY id) AS n FROM t", "DELETE FROM t",
		"INSERT INTO t SELECT n, n, REPEAT('x', 100) FROM s", "DROP TABLE s", "UPDATE t SET a = NULL WHERE id = 500",
		"UPDATE t SET a = 7 WHERE id IN (8, 9)",
	)
	check := func(flag string, clauses string) (int, string, string) {
		return midstream(t, append([]string{"check", flag, "ALTER TABLE " + name + " " + clauses}, flagsTo(t, i)...)...)
	}
	code, stdout, stderr := check("--no-color", "MODIFY a INT NOT NULL, ADD UNIQUE u (a), MODIFY b VARCHAR(50)")
	if code != exit.Unfit {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(
		t, stdout, "unfit: 1 row with NULL in column a", "keys: id=500\n",
		"list: SELECT `id`, `a` FROM", "fix:  MODIFY `a` int NULL", "3 rows sharing the value of unique key u (a)",
		"keys: id=7; id=8; id=9\n", "fix:  change or delete all but one row of each value; without uniqueness: ADD KEY `u` (`a`)", "1,000 rows too long for column b, varchar(50)",
		"keys: id=1; id=2; id=3; id=4; id=5; id=6; id=7; id=8; id=9; id=10, ...", "fix:  MODIFY `b` varchar(200)",
		"  3 problems found",
	)
	contains(t, stderr, "failed in phase prescan", "some rows don't fit the altered table", "nothing is left on the server", "next:")

	code, stdout, _ = check("--json", "MODIFY b VARCHAR(50)")
	if code != exit.Unfit {
		t.Errorf("exit code %d", code)
	}
	var finding record.Finding
	var last record.Result
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, `"event":"finding"`) {
			if err := json.Unmarshal([]byte(line), &finding); err != nil {
				t.Fatal(err)
			}
		}
		last = record.Result{}
		_ = json.Unmarshal([]byte(line), &last) // the last line is a result
	}
	if finding.Kind != "too_long" || finding.Name != "b" || finding.Rows != 1000 || len(finding.Keys) != 10 || !finding.Refused ||
		!strings.HasPrefix(finding.Query, "SELECT `id`, `b` FROM ") || finding.Fix == "" {
		t.Errorf("%+v", finding)
	}
	if last.Outcome != "unfit" || last.ExitCode != exit.Unfit || last.Phase != "prescan" || last.Swapped || last.Scanned != 1000 {
		t.Errorf("%+v", last)
	}

	code, stdout, _ = check("--quiet", "MODIFY b VARCHAR(50)")
	if code != exit.Unfit {
		t.Errorf("exit code %d", code)
	}
	contains(t, stdout, "unfit: 1,000 rows")

	code, stdout, stderr = check("--no-color", "MODIFY b VARCHAR(100)")
	if code != exit.Done || stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "all of 1,000 rows fit")
	code, stdout, _ = check("--no-color", "ADD COLUMN c INT")
	if code != exit.Done {
		t.Errorf("exit code %d", code)
	}
	contains(t, stdout, "no row needs a check")
	if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
		t.Errorf("tables %s", got)
	}
	if got := query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
}
