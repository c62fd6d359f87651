package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

const (
	// hostile is a text that a terminal, a log, a page or a report would obey, if it came there as it is.
	hostile = "\x1b]0;owned\x07\nFORGED\u009b31m\u202e<script>alert(1)</script>|中文 é"
	// hostileName is a table's: the server makes five characters of each for its file.
	hostileName = "t\x1b]0;o\x07\nFORGED<script>|`é"
)

// clean fails if a surface has a character that is not shown, a line that others have begun, or a tag of theirs.
func clean(t *testing.T, surface, text string) {
	t.Helper()
	if visible := escape.Text(text); visible != text {
		for i := range text {
			if !strings.HasPrefix(visible, text[:i]) {
				t.Errorf("%s would be obeyed: %q", surface, text[max(0, i-100):min(len(text), i+60)])
				break
			}
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "FORGED") && !strings.Contains(text, "</html>") &&
			!strings.Contains(text, "\n```\n") { // there a line is none
			t.Errorf("%s has a line that others have begun: %s", surface, line)
		}
	}
}

// tells runs midstream, and fails unless it ends with a code and says nothing that would be obeyed.
func tells(t *testing.T, code int, args ...string) string {
	t.Helper()
	got, stdout, stderr := midstream(t, args...)
	if got != code {
		t.Errorf("%q: exit code %d\n%s\n%s", args, got, stdout, stderr)
	}
	clean(t, fmt.Sprintf("%q", args), stdout)
	clean(t, fmt.Sprintf("%q", args), stderr)
	return stdout + stderr
}

// hostileTable makes a table of which all names and comments are hostile.
func hostileTable(t *testing.T, i *mysqltest.Instance) schema.Name {
	t.Helper()
	db, database := mysqltest.Database(t, i)
	name, column, key := schema.Name{Schema: database, Table: hostileName}, schema.Quote("c"+hostile), schema.Quote("k"+hostile)
	for _, s := range []string{
		"CREATE TABLE " + name.Quoted() + " (`id" + hostile + "` VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, " + column + " VARCHAR(100) CHARACTER SET utf8mb4 COMMENT " +
			schema.Literal(hostile) + ", KEY " + key + " (" + column + ")) CHARACTER SET utf8mb4 COMMENT " + schema.Literal(hostile),
		"INSERT INTO " + name.Quoted() + " VALUES (" + schema.Literal("1"+hostile) + ", " + schema.Literal(hostile) + "), (" + schema.Literal("2"+hostile) + ", NULL)",
		"CREATE TABLE other LIKE " + name.Quoted(),
		"INSERT INTO other SELECT `id" + hostile + "`, CONCAT('x', " + column + ") FROM " + name.Quoted(),
		"CREATE VIEW " + schema.Quote("v"+hostileName) + " AS SELECT * FROM " + name.Quoted(),
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	return name
}

// TestL9_NothingOfOthersIsObeyed: what verbs say of names, values, statements and messages of a
// server has no sequence for the terminal and no line that was forged.
func TestL9_NothingOfOthersIsObeyed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name := hostileTable(t, i)
	reach, alter := flagsTo(t, i), "ALTER TABLE "+name.Quoted()+" "
	note, column := "ADD COLUMN `n"+hostile+"` INT COMMENT "+schema.Literal(hostile), schema.Quote("c"+hostile)
	for verb, cases := range map[string]map[string]int{
		"plan": {alter + note: exit.Done, alter + "DROP COLUMN `none" + hostile + "`": exit.Refused, alter + "DROP COLUMN " + column: exit.Done, alter + "RENAME COLUMN " + column + " TO `d" + hostile + "`": exit.Done,
			alter + "ADD COLUMN n INT DEFAULT " + schema.Literal("7"+hostile): exit.Refused, alter + "ADD COLUMN n INT\n\x1b]0;o\x07 COMMENT 'x'": exit.WrongUsage,
			"ALTER TABLE " + schema.Name{Schema: "none" + hostileName, Table: "x" + hostile}.Quoted() + " ADD COLUMN a INT": exit.Refused, "nothing" + hostile: exit.WrongUsage,
			"DROP TABLE " + name.Quoted(): exit.Done, "TRUNCATE TABLE " + name.Quoted(): exit.Done, "RENAME TABLE " + name.Quoted() + " TO " + name.Sibling("y"+hostileName).Quoted(): exit.Done},
		"check": {alter + "MODIFY " + column + " INT": exit.Unfit, alter + "MODIFY " + column + " VARCHAR(100) NOT NULL": exit.Unfit, alter + "ADD UNIQUE KEY `u" + hostile + "` (" + column + "(1))": exit.Done},
	} {
		for statement, code := range cases {
			tells(t, code, append(reach, verb, statement)...)
			tells(t, code, append(reach, verb, "--json", statement)...)
		}
	}
	tells(t, exit.Mismatch, append(reach, "verify", "--settle=100ms", "--", name.Dotted(), name.Sibling("other").Dotted())...)
	tells(t, exit.Refused, append(reach, "cleanup", "--yes", "--", name.Sibling("none"+hostile).Dotted())...)
	for _, verb := range []string{"status", "pause", "cutover", "set", "hold", "abort", "watch"} {
		tells(t, exit.NoRun, verb, "--control-dir="+filepath.Join(t.TempDir(), "c"), "--", name.Dotted())
		tells(t, exit.WrongUsage, verb, "--", "a"+hostile)
	}
	tells(t, exit.WrongUsage, "no"+hostile)
	tells(t, exit.WrongUsage, "run", "--no"+hostile)
	tells(t, exit.WrongUsage, "run", "--chunk-time="+hostile, alter+note)
	tells(t, exit.Failed, append(reach, "plan", "--user=u"+hostile, alter+note)...)
}

// TestL9_ARunOfHostileNames: nor has anything that a run writes: its terminal, log, history,
// reports, metrics, hooks, status, and what it says of those in its way.
func TestL9_ARunOfHostileNames(t *testing.T) {
	mysqltest.Seldom(t)
	i := mysqltest.Server(t, "9.7")
	name := hostileTable(t, i)
	folder, files := filepath.Join(t.TempDir(), "c"), t.TempDir()
	hooks := []string{
		"--hook=on-phase=" + program(
			t,
			`printf '\033]0;hook\007\nFORGED by a hook\n'; env | grep '^MIDSTREAM_\|^FORGED' >> `+filepath.Join(files, "env")+`; exit 1`,
		),
	}
	at := map[string]string{"log-file": "log", "metrics-file": "run.prom", "history-dir": ""}
	args := append(
		append(flagsTo(t, i), "run", "--hold", "--method=shadow", "--control-dir="+folder, "--lock-wait=200ms", "--kill-blockers-after=1s"),
		hooks...)
	for flag, file := range at {
		args = append(args, "--"+flag+"="+filepath.Join(files, file))
	}
	run := start(
		t,
		command(t, append(args, "ALTER TABLE "+name.Quoted()+" ADD COLUMN `n"+hostile+"` INT COMMENT "+schema.Literal(hostile))...),
	)
	awaitStatus(t, run, folder, func(s socket.Status) bool { return s.Phase == "hold" })
	watching := start(t, command(t, "watch", "--control-dir="+folder))
	id, end := holding(t, i, "app"+hostile, name.Quoted()+" /* "+hostile+" */", 0)
	defer end()
	here := "--control-dir=" + folder
	for _, verb := range [][]string{{"status"}, {"status", "--json"}, {"blockers"}, {"blockers", "--json"}, {"set"}, {"set", "lock-wait=300ms"}, {"pause"}, {"status"}, {"resume"}} {
		tells(t, exit.Done, append([]string{verb[0], here}, verb[1:]...)...)
	}
	contains(
		t, tells(t, exit.Done, append(flagsTo(t, i), "blockers", here, "--host=127.0.0.1", "--", name.Dotted())...),
		fmt.Sprint("connection ", id),
	)
	tells(t, exit.Done, "cutover", here, "--yes")
	if code := run.exit(); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, &run.stdout, &run.stderr)
	}
	contains(t, run.stdout.String(), "killed a session that blocked the swap", "app")
	watching.exit()
	for surface, text := range map[string]string{"stdout": run.stdout.String(), "stderr": run.stderr.String(), "watch": watching.stdout.String() + watching.stderr.String()} {
		clean(t, surface, text)
	}
	written := map[string]int{}
	err := filepath.WalkDir(files, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		clean(t, path, string(text))
		written[filepath.Ext(path)]++
		if filepath.Ext(path) == ".html" && strings.Contains(string(text), "<script>alert(1)") {
			t.Error("the report has the script")
		}
		if escape.Line(path) != path {
			t.Errorf("a file is called %q", path)
		}
		return err
	})
	for _, form := range []string{".html", ".md", ".json", ".jsonl", ".prom", ""} {
		if written[form] == 0 {
			t.Errorf("no %q was written: %v", form, written)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	tells(t, exit.Done, "report", "--list", "--history-dir="+files)
	for _, form := range []string{"html", "md", "json"} {
		tells(t, exit.Done, "report", "--format="+form, "--history-dir="+files)
	}
	tells(t, exit.Done, append(flagsTo(t, i), "cleanup", "--old", "--yes", "--", name.Dotted())...)
}

// TestL9_HostileNamesOnATerminal: on a terminal nor.
func TestL9_HostileNamesOnATerminal(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name := hostileTable(t, i)
	cmd := command(
		t,
		append(
			flagsTo(t, i), "run", "--method=shadow",
			"ALTER TABLE "+name.Quoted()+" ADD COLUMN `n"+hostile+"` INT COMMENT "+schema.Literal(hostile),
		)...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	screen := watch(terminal)
	screen.await(t, "Old table kept")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-screen.done
	terminal.Close()
	sent := screen.String()
	for _, text := range []string{"\x1b]0;o", "owned\x07", "\u009b", "\u202e", "\nFORGED"} {
		if strings.Contains(sent, text) {
			t.Errorf("%q arrives in %q", text, sent)
		}
	}
	contains(t, ansi.Strip(sent), "FORGED", "é")
}

// TestL9_HostileNamesInOtherWords: nor in the words of the programs in whose place midstream stands.
func TestL9_HostileNamesInOtherWords(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name := hostileTable(t, i)
	alter := "ADD COLUMN `n" + hostile + "` INT COMMENT " + schema.Literal(hostile)
	run := func(cmd *running, code int) {
		t.Helper()
		if got := cmd.exit(); got != code {
			t.Errorf("exit code %d\n%s\n%s", got, &cmd.stdout, &cmd.stderr)
		}
		clean(t, "stdout", cmd.stdout.String())
		clean(t, "stderr", cmd.stderr.String())
	}
	of := []string{"--allow-on-master", "--verbose", "--database=" + name.Schema, "--table=" + name.Table, "--alter=" + alter}
	run(start(t, ghOst(t, i, of...)), 0)
	run(start(t, ghOst(t, i, append(of, "--execute")...)), 0)
	run(start(t, ghOst(t, i, append(of, "--execute")...)), 1) // the column is there
	if _, err := i.Open(
		t,
		name.Schema,
	).ExecContext(
		context.Background(), "ALTER TABLE "+name.Quoted()+" DROP COLUMN `n"+hostile+"`",
	); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"--dry-run", "--execute"} {
		run(start(t, ptOSC(t, dsn(t, i, "D="+name.Schema+",t="+name.Table), "--no-version-check", "--alter="+alter, "--print", how)), 0)
	}
}

// TestL9_HostileNamesInTheQueue: nor in the queue's answers and pages; and such a table's change is taken, and done.
func TestL9_HostileNamesInTheQueue(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 100)
	q.stopWriting()
	name := schema.Name{Schema: q.database(), Table: hostileName}
	executing(t, q.i, q.database())("CREATE TABLE " + name.Quoted() + " (id INT PRIMARY KEY, a INT)")
	q.serve()
	alter := "ALTER TABLE " + name.Quoted() + " ADD COLUMN `n" + hostile + "` INT COMMENT " + schema.Literal(hostile)
	ask := func(code int, verb string, args ...string) {
		t.Helper()
		got, stdout, stderr := q.ask(verb, args...)
		if got != code {
			t.Errorf("%s %q: exit code %d\n%s\n%s", verb, args, got, stdout, stderr)
		}
		clean(t, verb, stdout)
		clean(t, verb, stderr)
	}
	ask(exit.Done, "submit", append([]string{alter, "--server=main", "--id=h"}, held...)...)
	ask(exit.WrongUsage, "submit", "nothing"+hostile, "--server=main")
	ask(exit.WrongUsage, "submit", alter, "--server=none"+hostile)
	q.holds("h")
	ask(exit.Done, "submit", alter, "--server=main", "--id=next")
	for _, args := range [][]string{nil, {"h"}, {"next"}, {"--json"}, {"h", "--json"}} {
		ask(exit.Done, "queue", args...)
	}
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		t.Fatal(err)
	}
	l := &looking{t, q.url, strings.TrimSpace(string(token))}
	for _, path := range []string{"/", "/changes/h", "/changes/next", "/parts/changes", "/parts/changes/h/blockers", "/v1/changes", "/v1/changes/h", "/v1/changes/h/status", "/v1/changes/h/settings",
		"/changes/" + url.PathEscape("none"+hostile), "/v1/changes/h/report.html", "/v1/changes/h/report.md", "/v1/changes/h/report.json", "/metrics"} {
		response := l.do("GET", path, "")
		text, err := io.ReadAll(response.Body)
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %v", path, err)
		}
		clean(t, path, string(text))
		if kind := response.Header.Get(
			"Content-Type",
		); strings.HasPrefix(kind, "text/html") &&
			strings.Contains(string(text), "<script>alert") {
			t.Errorf("%s has the script", path)
		}
	}
	if status, text := q.http("POST", "/v1/changes/h/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.becomes("h", queue.StateDone)
	ask(exit.Done, "queue", "h")
	q.becomes("next", queue.StateFailed) // the column is there
	ask(exit.Done, "queue", "next")
	clean(t, "the daemon", q.daemon.stdout.String()+q.daemon.stderr.String())
	q.daemon.interrupt()
	q.daemon.exit()
}
