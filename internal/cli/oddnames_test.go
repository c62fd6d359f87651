package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/socket"
)

// oddNames are tables whose names a shell, a format, a terminal or a parser could take for something else.
var oddNames = []string{
	"a.b",
	"it's \"q\" `b`",
	"100%s %d%!(EXTRA) ?",
	"two words",
	"-lead",
	"--old",
	"a/b",
	"..",
	"`",
	"line\nbreak\ttab",
	"\x1b]0;x\x07\u202e\u009b31m",
	":name @v #h $HOME * \\",
	"a=b",
	"<script>alert(1)</script>|",
	"中文 é",
	"30%",
	"lock-wait=1s",
}

// oddTable makes a table with rows in a database of the test, and returns its name and a query.
func oddTable(t *testing.T, i *mysqltest.Instance, table string) (schema.Name, func(string) string) {
	t.Helper()
	db, database := mysqltest.Database(t, i)
	name := schema.Name{Schema: database, Table: table}
	for _, s := range []string{
		"CREATE TABLE " + name.Quoted() + " (id INT PRIMARY KEY, `%d` INT, `?` VARCHAR(20) COMMENT '100% of ?', KEY `k%s` (`%d`)) COMMENT '%v ? \\\\'",
		"INSERT INTO " + name.Quoted() + " VALUES (1, 1, '%s'), (2, 2, '?'), (3, 3, NULL)",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return name, func(q string) string {
		var answer string
		if err := db.QueryRow(q).Scan(&answer); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return answer
	}
}

// shellWords are the arguments that a shell makes of a text.
func shellWords(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("bash", "-c", `for a in `+text+`; do printf '%s\0' "$a"; done`).Output()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

var printed = regexp.MustCompile(`(?m)^(.*) on \S+ \(process \d+, since `)

// odd is a held run on a table of an odd name.
type odd struct {
	t                 *testing.T
	name              schema.Name
	query             func(string) string
	run               *running
	folder, histories string
	spellings         [][]string // of the name, as arguments: as Argument and as SQL spell it, and as status prints it
}

// holdOdd begins a run on a table of an odd name, which is held before its swap.
func holdOdd(t *testing.T, i *mysqltest.Instance, table string) *odd {
	t.Helper()
	o := &odd{t: t, folder: filepath.Join(t.TempDir(), "c"), histories: t.TempDir()}
	o.name, o.query = oddTable(t, i, table)
	o.run = start(
		t,
		command(t, append(flagsTo(t, i), "run", "--hold", "--method=shadow", "--control-dir="+o.folder, "--history-dir="+o.histories,
			"ALTER TABLE "+o.name.Quoted()+" ADD COLUMN `new%s ?` INT COMMENT '%d ?'")...),
	)
	status := awaitStatus(t, o.run, o.folder, func(s socket.Status) bool { return s.Phase == "hold" })
	if schema.NameOf(status.Table) != o.name {
		t.Errorf("its table is %q", status.Table)
	}
	code, stdout, stderr := midstream(t, "status", "--control-dir="+o.folder)
	shown := printed.FindStringSubmatch(stdout)
	if code != exit.Done || shown == nil {
		t.Fatalf("status: %d\n%s\n%s", code, stdout, stderr)
	}
	o.spellings = [][]string{shellWords(t, o.name.Argument()), {o.name.Quoted()}, shellWords(t, shown[1])}
	if table[0] != '`' {
		o.spellings = append(o.spellings, []string{o.name.Bare()})
	}
	return o
}

// each gives a verb to the table by each spelling of its name.
func (o *odd) each(want int, verb []string, behind ...string) {
	o.t.Helper()
	for _, table := range o.spellings {
		args := slices.Concat(verb, table, behind)
		if code, stdout, stderr := midstream(o.t, args...); code != want {
			o.t.Errorf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
}

// TestL9_OddNamesAreTaken: each verb that takes a table takes one of any name, as status prints it
// and as SQL spells it.
func TestL9_OddNamesAreTaken(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for n, table := range oddNames {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sideBySide(t)
			o := holdOdd(t, i, table)
			here, told, reach := "--control-dir="+o.folder, "--history-dir="+o.histories, flagsTo(t, i)
			for _, table := range o.spellings {
				for _, verb := range []string{"pause", "status", "resume"} {
					if code, stdout, stderr := midstream(t, append([]string{verb, here}, table...)...); code != exit.Done {
						t.Errorf("%s %q: exit code %d\n%s\n%s", verb, table, code, stdout, stderr)
					}
				}
			}
			o.each(exit.NotNow, []string{"hold", here}) // it is held already
			o.each(exit.Done, []string{"throttle", here}, "30%")
			o.each(exit.Done, []string{"set", here}, "lock-wait=300ms")
			o.each(exit.Done, []string{"set", here})
			o.each(exit.Done, []string{"blockers", here})
			o.each(exit.Done, []string{"report", "--format=json", told})
			o.each(exit.Done, []string{"report", "--list", told})
			if _, err := i.Open(t, o.name.Schema).Exec("UPDATE " + o.name.Quoted() + " SET `?` = '%' WHERE id = 2"); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr := midstream(t, append([]string{"cutover", here}, o.spellings[2]...)...); code != exit.Done {
				t.Fatalf("cutover: %d\n%s\n%s", code, stdout, stderr)
			}
			if code := o.run.exit(); code != exit.Done {
				t.Fatalf("run: %d\n%s\n%s", code, &o.run.stdout, &o.run.stderr)
			}
			o.each(exit.Done, append(reach, "blockers", here))
			old := o.name.Sibling(table + "_old")
			for _, pair := range [][]string{{o.name.Quoted(), old.Quoted()}, {o.name.Dotted(), old.Dotted()}} {
				if code, stdout, stderr := midstream(t, append(reach, "verify", "--", pair[0], pair[1])...); code != exit.Done {
					t.Errorf("verify: %d\n%s\n%s", code, stdout, stderr)
				}
			}
			if got := o.query("SELECT GROUP_CONCAT(COALESCE(`?`, '-') ORDER BY id) FROM " + o.name.Quoted()); got != "%s,%,-" {
				t.Errorf("the rows have %s", got)
			}
			o.each(exit.Done, append(reach, "cleanup", "--old", "--yes"))
			if n := o.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != "1" {
				t.Errorf("%s tables are there", n)
			}
		})
	}
}

// awaitStatus waits until the run of a folder stands so.
func awaitStatus(t *testing.T, run *running, folder string, is func(socket.Status) bool) socket.Status {
	t.Helper()
	var now socket.Status
	until(t, func() string { return fmt.Sprintf("%+v\n%s\n%s", now, &run.stdout, &run.stderr) }, func() bool {
		runs, err := socket.Find(context.WithoutCancel(t.Context()), folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 1 {
			now = runs[0].Found
		}
		select {
		case <-run.done:
			t.Fatalf("it has ended\n%s\n%s", &run.stdout, &run.stderr)
		default:
		}
		return len(runs) == 1 && is(now)
	})
	return now
}

// TestL9_OddNamesAborted: watch ends with the run, and abort ends that of such a table.
func TestL9_OddNamesAborted(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for n, table := range []string{"a.b", "-lead", "line\nbreak", "100%s 'q' \"d\" `", "a=b"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := holdOdd(t, i, table)
			run, argument, folder := o.run, o.spellings[0], o.folder
			watch := start(t, command(t, append([]string{"watch", "--control-dir=" + folder}, argument...)...))
			watch.await(&watch.stdout, "hold")
			code, stdout, stderr := midstream(t, append([]string{"abort", "--keep", "--control-dir=" + folder}, argument...)...)
			if code != exit.Done {
				t.Errorf("abort: %d\n%s\n%s", code, stdout, stderr)
			}
			if code := watch.exit(); code != exit.Done {
				t.Errorf("watch: %d\n%s", code, &watch.stderr)
			}
			if code := run.exit(); code != exit.Stopped {
				t.Errorf("run: %d\n%s\n%s", code, &run.stdout, &run.stderr)
			}
			code, stdout, stderr = midstream(t, append(append(flagsTo(t, i), "cleanup", "--yes"), argument...)...)
			if code != exit.Done || !strings.Contains(stdout, "Dropped") {
				t.Errorf("cleanup: %d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
}
