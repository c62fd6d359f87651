package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/session"
)

// TestCtrlCWhileRowsAreCopied: the table is as it was. That nothing else is left, no
// table, lock or connection, is the law of mysqltest.Database.
func TestCtrlCWhileRowsAreCopied(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 400_000)
	before := query("SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT(id, a, b)))) FROM t")
	r := start(t, command(t, append([]string{"run", "--on-signal=remove", "--method=shadow", "--json", "--workers=1", "--chunk-time=10ms",
		"ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...))
	for rows := false; !rows; {
		r.await(&r.stdout, `"event":"progress"`)
		for line := range strings.Lines(r.stdout.String()) {
			rows = rows ||
				strings.Contains(line, `"phase":"copy"`) && strings.Contains(line, `"chunk_rows"`) &&
					!strings.Contains(line, `"rows_copied":0,`)
		}
	}
	r.interrupt()
	began := time.Now()
	if code := r.exit(); code != exit.Aborted {
		t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	t.Logf("aborted within %s", time.Since(began))
	contains(t, r.stderr.String(), "aborted in phase copy: interrupted", name+" is untouched and nothing is left")
	contains(t, r.stdout.String(), `"outcome":"aborted","exit_code":12`)
	if got := query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
	if after := query("SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT(id, a, b)))) FROM t"); after != before {
		t.Errorf("%s instead of %s", after, before)
	}
}

// TestBlockedRun: the operator is told who blocks; a second run on the table is refused;
// Ctrl-C ends the waiting.
func TestBlockedRun(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	blocker, err := i.Open(t, "").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback()
	var id, rows string
	if err := blocker.QueryRow("SELECT CONNECTION_ID(), COUNT(*) FROM "+name).Scan(&id, &rows); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--on-signal=remove", "--method=shadow", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)
	first := start(t, command(t, args...))
	first.await(&first.stdout, "BLOCKED ")
	first.await(&first.stdout, "KILL "+id)
	contains(t, first.stdout.String(), "connection "+id+", ", "SELECT CONNECTION_ID(), COUNT(*)")

	// The second finds the tables of the first, and is refused by that or by the claim.
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Busy {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = midstream(t, append([]string{"cleanup", "--yes", name}, flagsTo(t, i)...)...)
	if code != exit.Busy {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, "another run of midstream is working on this table", "nothing was dropped")

	first.interrupt()
	first.await(&first.stdout, "interrupted: aborting")
	first.interrupt() // timeout(1) sends its signal twice
	if code := first.exit(); code != exit.Aborted {
		t.Errorf("exit code %d\n%s\n%s", code, &first.stdout, &first.stderr)
	}
	if got := query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
}

// TestSecondCtrlC: while the first one's cleanup is held up, a second one leaves at
// once, and cleanup removes what is left. With --json the last line is the result even so.
func TestSecondCtrlC(t *testing.T) {
	t.Run("text", func(t *testing.T) { testSecondCtrlC(t, "BLOCKED ") })
	t.Run("json", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(testSecondCtrlC(t, `"event":"blocked"`, "--json")), "\n")
		contains(t, lines[len(lines)-1], `"event":"result"`, `"outcome":"left_at_once","exit_code":130,"error":"left at once"`,
			"_shadow", "midstream cleanup ", `"phase":"catchup"`)
	})
}

// testSecondCtrlC returns what the run wrote to standard output. blocked is in it once the
// run waits.
func testSecondCtrlC(t *testing.T, blocked string, args ...string) string {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	blocker, err := i.Open(t, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close()
	hold := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := blocker.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	hold("BEGIN", "DO (SELECT COUNT(*) FROM "+name+")")
	args = append(append([]string{"run", "--on-signal=remove", "--method=shadow", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...), args...)
	r := start(t, command(t, args...))
	r.await(&r.stdout, blocked)
	hold("DO (SELECT COUNT(*) FROM " + name + "_shadow)") // can't be dropped now
	r.interrupt()
	r.await(&r.stdout, "interrupted: aborting")
	time.Sleep(session.Echo)
	r.interrupt()
	if code := r.exit(); code != exit.AtOnce {
		t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	contains(t, r.stderr.String(), "left at once", name+" is unchanged; ", name+"_shadow", "midstream cleanup "+name)
	hold("ROLLBACK")

	code, stdout, stderr := midstream(t, append([]string{"cleanup", name}, flagsTo(t, i)...)...)
	if code != exit.WrongUsage {
		t.Errorf("cleanup did not ask: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	cleanup := append([]string{"cleanup", "--yes", name}, flagsTo(t, i)...)
	// The server lets go of the claim when it notices that the process is gone.
	for end := time.Now().Add(20 * time.Second); ; {
		code, stdout, stderr = midstream(t, cleanup...)
		if code != exit.Busy || time.Now().After(end) {
			break
		}
	}
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "To be dropped:", "Dropped ")
	if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
		t.Errorf("tables %s", got)
	}
	return r.stdout.String()
}

// TestNobodyReads: a reader of standard output that goes away does not end a run.
func TestNobodyReads(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 1000)
	cmd := command(
		t,
		append([]string{"run", "--method=shadow", "--drop-old", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	writer.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
}
