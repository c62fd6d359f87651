package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/session"
)

// TestL5_ADrainedContainerLosesNoWork: SIGTERM ends a run ten times while it copies. Each time it ends within 5 s with exit code 16, and
// the next one begins with all rows that were copied before. The application writes meanwhile.
func TestL5_ADrainedContainerLosesNoWork(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 200_000)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	args := append([]string{"run", "--method=shadow", "--json", "--workers=1", "--chunk-time=10ms", "--copy-share=2%", "--no-prescan",
		"ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // by nohup, for all children
		signals = signals[:2]
	}
	copied := int64(0)
	for n := range 10 {
		r := start(t, command(t, args...))
		begin := rowsOnceCopying(t, r, 0)
		if begin < copied {
			t.Errorf("drain %d: it begins with %d rows, and the last one had copied %d", n, begin, copied)
		}
		exec(fmt.Sprintf("UPDATE t SET a = a + 1 WHERE id %% 100 = %d", n), fmt.Sprintf("DELETE FROM t WHERE id = %d", 100+n))
		copied = rowsOnceCopying(t, r, begin)
		began := time.Now()
		if err := r.cmd.Process.Signal(signals[n%len(signals)]); err != nil {
			t.Fatal(err)
		}
		if code := r.exit(); code != exit.Stopped || time.Since(began) > 5*time.Second {
			t.Fatalf("drain %d: exit code %d after %s\n%s\n%s", n, code, time.Since(began), &r.stdout, &r.stderr)
		}
		contains(t, r.stderr.String(), "stopped in phase copy: stopped at a checkpoint by ", "are kept", "same command")
	}
	sum := query("SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT_WS('/', id, a, b)))) FROM t")
	if code, stdout, stderr := midstream(t, append(args, "--copy-share=100%", "--drop-old")...); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if got := query("SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT_WS('/', id, a, b)))) FROM t"); got != sum || query(columns) != "id,a,b,c" {
		t.Errorf("%s instead of %s, columns %s", got, sum, query(columns))
	}
}

// rowsOnceCopying waits until a run has copied more rows than these in its copy, and returns how many.
func rowsOnceCopying(t *testing.T, r *running, more int64) int64 {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for line := range strings.Lines(r.stdout.String()) {
			var p struct {
				Event, Phase string
				Rows         int64 `json:"rows_copied"`
			}
			if json.Unmarshal([]byte(line), &p) == nil && p.Event == "progress" && p.Phase == "copy" && p.Rows > more {
				return p.Rows
			}
		}
	}
	t.Fatalf("no more than %d rows\n%s\n%s", more, &r.stdout, &r.stderr)
	return 0
}

// TestL9_CtrlCAsksOnATerminal: keep the work, remove it, or continue. A second Ctrl-C at the question keeps.
func TestL9_CtrlCAsksOnATerminal(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 5_000)
	args := append([]string{"run", "--method=shadow", "--hold", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)
	const question, keys = "k: keep the work  r: remove it  any other key: continue", "p pause"
	for _, c := range []struct {
		answers []string
		code    int
		says    string
	}{
		{[]string{"\x03"}, exit.Stopped, "are kept"},
		{[]string{"k"}, exit.Stopped, "are kept"},
		{[]string{"c", "r"}, exit.Aborted, "nothing is left"},
	} {
		cmd := command(t, args...)
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
		if err != nil {
			t.Fatal(err)
		}
		screen := watch(terminal)
		screen.await(t, "on hold")
		for _, answer := range c.answers {
			screen.await(t, keys)
			time.Sleep(session.Echo)
			asked := len(screen.String())
			typeKeys(t, terminal, "\x03")
			screen.awaitAfter(t, asked, question)
			time.Sleep(session.Echo)
			typeKeys(t, terminal, answer)
		}
		<-screen.done
		_ = cmd.Wait()
		terminal.Close()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(screen.String(), c.says) || query(columns) != "id,a,b" {
			t.Errorf("%q: exit code %d, columns %s\n%s", c.answers, code, query(columns), ansi.Strip(screen.String()))
		}
	}
	if got := query(allTables); got != "t" {
		t.Errorf("tables %s", got)
	}
}

func typeKeys(t *testing.T, terminal *os.File, keys string) {
	t.Helper()
	if _, err := io.WriteString(terminal, keys); err != nil {
		t.Fatal(err)
	}
}

// awaitAfter waits for a text behind the first bytes of the output.
func (s *terminalOutput) awaitAfter(t *testing.T, begin int, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(ansi.Strip(s.String()[begin:]), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in:\n%s", text, ansi.Strip(s.String()[begin:]))
		}
	}
}
