package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// TestPurge: the plan writes nothing, the result has what was deleted, and the report knows it afterwards.
func TestPurge(t *testing.T) {
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 20_000)
		database, _, _ := strings.Cut(name, ".")
		folder := filepath.Join(t.TempDir(), "h")
		statement := "DELETE FROM " + name + " WHERE id < 5000 AND id % 2 = 0"
		purge := func(code int, more ...string) (stdout, stderr string) {
			t.Helper()
			is, stdout, stderr := midstream(t, append(append([]string{"purge", "--history-dir=" + folder}, more...), flagsTo(t, i)...)...)
			if is != code {
				t.Errorf("%q: exit code %d and not %d\n%s\n%s", more, is, code, stdout, stderr)
			}
			return stdout, stderr
		}
		before, goes := query("SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM t"), query("SELECT COUNT(*) FROM t WHERE id < 5000 AND id % 2 = 0")
		stdout, _ := purge(exit.Done, "--plan", "--rest="+database+".rest", statement)
		contains(t, stdout, "OK to run", "walk the rows once by PRIMARY (id)", "create "+database+".rest like", "Nothing was written", "ENGINE=InnoDB")
		if after := query("SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM t"); after != before {
			t.Errorf("the plan has left %s", after)
		}
		stdout, _ = purge(exit.Done, "--json", "--rest="+database+".rest", statement)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var result record.Result
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
			t.Fatal(err)
		}
		n, now := fmt.Sprint(result.RowsChanged), result.RowsMatchNow
		if n != goes || result.RowsMatched != result.RowsChanged || result.RowsArchived != result.RowsChanged || now == nil || *now != 0 {
			t.Errorf("the result is %s", lines[len(lines)-1])
		}
		if left := query("SELECT CONCAT(COUNT(*), ' ', (SELECT COUNT(*) FROM rest)) FROM t"); left != fmt.Sprint(20_000-result.RowsChanged, " ", n) {
			t.Errorf("left: %s", left)
		}
		few := query("SELECT COUNT(*) FROM t WHERE id < 100")
		stdout, _ = purge(exit.Done, "-q", "DELETE FROM "+name+" WHERE id < 100")
		contains(t, stdout, "Done: deleted "+few+" rows of "+name)
		_, stdout, _ = midstream(t, "report", "--list", "--history-dir="+folder)
		contains(t, stdout, "DELETE FROM", "done")
		code, stdout, stderr := midstream(t, "report", "--format=md", "--history-dir="+folder, name)
		if code != exit.Done {
			t.Error(stderr)
		}
		contains(t, stdout, "DELETE FROM", few+" matched, "+few+" deleted")
		_, stderr = purge(exit.Refused, "DELETE FROM "+name+" WHERE b < NOW()")
		contains(t, stderr, "may not mean the same", "In place of NOW()")
		for _, c := range []struct{ statement, want string }{
			{"DELETE FROM " + name, "TRUNCATE TABLE"}, {"UPDATE " + name + " SET a = 1 WHERE id = 1", "begins with DELETE"},
			{"DELETE FROM t WHERE id = 1", "name the table's database"}, {"DELETE FROM " + name + " WHERE id = 1 LIMIT 3", "LIMIT"},
		} {
			_, stderr := purge(exit.WrongUsage, c.statement)
			contains(t, stderr, c.want)
		}
	})
}

// slowly makes an update last.
var slowly = []string{"--chunk-time=10ms", "--copy-share=10%", "--json"}

// beginRows starts an update that lasts, and waits until it has changed rows.
func beginRows(t *testing.T, i *mysqltest.Instance, name, folder string) *running {
	t.Helper()
	args := append(append([]string{"update", "--control-dir=" + folder}, slowly...), flagsTo(t, i)...)
	r := start(t, command(t, append(args, "UPDATE "+name+" SET a = a + 1000000 WHERE id > 0")...))
	until(t, r.stdout.String, func() bool {
		for line := range strings.Lines(r.stdout.String()) {
			if strings.Contains(line, `"phase":"rows"`) && strings.Contains(line, `"rows_copied"`) && !strings.Contains(line, `"rows_copied":0,`) {
				return true
			}
		}
		return false
	})
	return r
}

// TestL9_CtrlCKeepsACheckpointOfRows: the run ends with exit code 16, and the same command resumes; no row is changed twice. Until then,
// the table is not altered.
func TestL9_CtrlCKeepsACheckpointOfRows(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 50_000)
			r := beginRows(t, i, name, filepath.Join(t.TempDir(), "c"))
			r.interrupt()
			if code := r.exit(); code != exit.Stopped {
				t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			contains(t, r.stderr.String(), "stopped in phase rows", "were updated; the checkpoint is in", name+"_rows.", "midstream cleanup "+name)
			contains(t, r.stdout.String(), `"outcome":"stopped","exit_code":16`)
			code, _, stderr := midstream(t, append([]string{"update", "UPDATE " + name + " SET a = a + 2 WHERE id > 0"}, flagsTo(t, i)...)...)
			if code != exit.Refused {
				t.Errorf("another update: exit code %d\n%s", code, stderr)
			}
			contains(t, stderr, "SET a = a + 1000000", "midstream cleanup "+name)
			code, _, stderr = midstream(t, append([]string{"run", "--method=shadow", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
			if code != exit.Refused {
				t.Errorf("a change of the table: exit code %d\n%s", code, stderr)
			}
			contains(t, stderr, "a purge or an update of rows was stopped")
			code, stdout, stderr := midstream(t, append([]string{"update", "update " + name + " set a=a+1000000 where id>0;"}, flagsTo(t, i)...)...)
			if code != exit.Done {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(t, stdout, "resuming the same command", "Done: updated 50,000 rows", "50000 rows match now")
			if got := query("SELECT CONCAT(MIN(a) DIV 1000000, ' ', MAX(a) DIV 1000000) FROM t"); got != "1 1" {
				t.Errorf("the rows were changed %s times", got)
			}
		})
	}
}

// TestRowsAreControlled: the commands for a run hold for a change of rows too.
func TestRowsAreControlled(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 50_000)
	folder := filepath.Join(t.TempDir(), "c")
	r := beginRows(t, i, name, folder)
	obeys := func(code int, verb string, args ...string) (stdout string) {
		t.Helper()
		is, stdout, stderr := midstream(t, append([]string{verb, "--control-dir=" + folder}, args...)...)
		if is != code {
			t.Errorf("%s: exit code %d\n%s\n%s", verb, is, stdout, stderr)
		}
		return stdout + stderr
	}
	contains(t, obeys(exit.Done, "status"), name, "rows: ")
	obeys(exit.Done, "pause", name)
	const sum = "SELECT SUM(a >= 1000000) FROM t"
	before := query(sum)
	time.Sleep(500 * time.Millisecond)
	if after := query(sum); after != before {
		t.Errorf("%s rows were changed at the pause, and %s later", before, after)
	}
	obeys(exit.Done, "resume", name)
	obeys(exit.NotNow, "cutover", name)
	obeys(exit.Done, "pause", "--stop-capture", name)
	obeys(exit.Done, "resume", name)
	until(t, r.stdout.String, func() bool { return strings.Contains(r.stdout.String(), `"event":"resumed"`) })
	obeys(exit.Done, "set", name, "copy-share=20%")
	code, stdout, stderr := midstream(t, append([]string{"purge", "DELETE FROM " + name + " WHERE id = 1"}, flagsTo(t, i)...)...)
	if code != exit.Busy {
		t.Errorf("a second change: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	obeys(exit.Done, "pause", "--stop-capture", name)
	contains(t, obeys(exit.Done, "abort", name), "were updated; nothing else is left on the server")
	if code := r.exit(); code != exit.Aborted {
		t.Errorf("exit code %d\n%s", code, &r.stderr)
	}
}

// TestL5_RowsOutliveTheirServersConnections: the run connects again, and no row is changed twice.
func TestL5_RowsOutliveTheirServersConnections(t *testing.T) {
	mysqltest.Seldom(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 90_000)
	folder := filepath.Join(t.TempDir(), "c")
	r := beginRows(t, i, name, folder)
	db := i.Open(t, "")
	for range 3 {
		rows, err := db.Query("SELECT processlist_id FROM performance_schema.session_connect_attrs WHERE attr_name = 'program_name' AND attr_value = 'midstream'")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		rows.Close()
		for _, id := range ids {
			_, _ = db.Exec("KILL " + id)
		}
		time.Sleep(2 * time.Second)
	}
	if err := r.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("the run has ended: %s\n%s", &r.stdout, &r.stderr)
	}
	if code, _, stderr := midstream(t, "set", "--control-dir="+folder, name, "copy-share=100%", "chunk-time=500ms"); code != exit.Done {
		t.Error(stderr) // it would take minutes where a commit takes longer than a chunk may
	}
	if code := r.exit(); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	if got := query("SELECT CONCAT(MIN(a) DIV 1000000, ' ', MAX(a) DIV 1000000) FROM t"); got != "1 1" {
		t.Errorf("the rows were changed %s times", got)
	}
}
