package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/lab/mysqltest"
)

// errorExample is something that goes wrong.
type errorExample struct {
	title  string
	args   []string
	code   int
	ending func(*running) // ends a run that waits before its swap; nil where it ends by itself
}

// TestErrorsPage holds docs/errors.md against what verbs tell of real causes on a real server, byte
// by byte but for the server's address and the database's name. -update writes it.
func TestErrorsPage(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 2000)
	database, _, _ := strings.Cut(name, ".")
	executing(t, i, database)("CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(200), UNIQUE KEY (a))",
		"INSERT INTO orders (a, b) SELECT id, b FROM t", "CREATE TABLE log (a INT)",
		"CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(40))", "INSERT INTO people VALUES (1, 'Ann'), (2, 'Bartholomew')",
		"CREATE TABLE people_copy LIKE people", "INSERT INTO people_copy VALUES (1, 'Ann'), (2, 'Bart')")
	folder := filepath.Join(t.TempDir(), "c")
	held := []string{"run", "--method=shadow", "--hold", "--control-dir=" + folder, "ALTER TABLE shop.orders ADD COLUMN n INT"}
	var page strings.Builder
	page.WriteString(strings.Replace(generated, "TestDocs", "TestErrorsPage", 1) + errorsIntroduction)
	for _, e := range []errorExample{
		{"The command line is wrong", []string{"run", "--workers=0", "ALTER TABLE shop.orders ADD COLUMN n INT"}, exit.WrongUsage, nil},
		{"The server can't be reached", []string{"run", "--host=127.0.0.1", "--port=1", "--user=dba", "ALTER TABLE shop.orders ADD COLUMN n INT"}, exit.Failed, nil},
		{"The plan refuses", []string{"run", "--method=shadow", "ALTER TABLE shop.log ADD COLUMN n INT"}, exit.Refused, nil},
		{"Rows don't fit", []string{"run", "ALTER TABLE shop.people MODIFY name VARCHAR(8)"}, exit.Unfit, nil},
		{"A row that does not fit is found by the copy", []string{"run", "--no-prescan", "ALTER TABLE shop.people MODIFY name VARCHAR(8)"}, exit.Unfit, nil},
		{"The operator aborts it", append([]string{"run", "--on-signal=remove"}, held[1:]...), exit.Aborted, func(r *running) { r.interrupt() }},
		{"It is stopped, and keeps its work", held, exit.Stopped, func(r *running) {
			if code, _, stderr := midstream(t, "abort", "--keep", "--control-dir="+folder, database+".orders"); code != exit.Done {
				t.Error(stderr)
			}
		}},
		{"What was kept is another ALTER's", []string{"run", "--method=shadow", "ALTER TABLE shop.orders ADD COLUMN another INT"}, exit.Refused, nil},
		{"Two tables are not equal", []string{"verify", "shop.people", "shop.people_copy"}, exit.Mismatch, nil},
		{"There is no such run", []string{"pause", "--control-dir=" + folder, "shop.orders"}, exit.NoRun, nil},
	} {
		args := []string{}
		for _, arg := range e.args {
			args = append(args, strings.ReplaceAll(arg, "shop.", database+"."))
		}
		if (e.args[0] == "run" || e.args[0] == "verify") && e.args[1] != "--host=127.0.0.1" {
			args = append(flagsTo(t, i), args...)
		}
		r := start(t, command(t, args...))
		if e.ending != nil {
			r.await(&r.stdout, "on hold")
			e.ending(r)
		}
		if code := r.exit(); code != e.code {
			t.Errorf("%s: exit code %d\n%s\n%s", e.title, code, &r.stdout, &r.stderr)
		}
		shown := strings.Join(e.args, " ")
		if statement := e.args[len(e.args)-1]; strings.Contains(statement, " ") {
			shown = strings.Join(e.args[:len(e.args)-1], " ") + ` "` + statement + `"`
		}
		told := asOnThePage(strings.NewReplacer(" --control-dir="+folder, "", i.Address, "db1:3306", database, "shop").Replace(r.stderr.String()))
		fmt.Fprintf(
			&page, "\n## %s\n\n```\n$ midstream %s\n%s```\n\nExit code %d, `%s`.\n", e.title,
			strings.ReplaceAll(shown, " --control-dir="+folder, ""), told, e.code, exit.OutcomeOf(e.code).Name,
		)
	}
	if code, _, stderr := midstream(t, append(flagsTo(t, i), "cleanup", "--yes", database+".orders")...); code != exit.Done {
		t.Error(stderr)
	}
	path := filepath.Join("..", "..", "docs", "errors.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(path); err != nil || string(there) != page.String() {
		t.Errorf(
			"docs/errors.md is out of date (%v): go test ./internal/cli -run TestErrorsPage -update would write\n%s",
			err, page.String(),
		)
	}
}

var (
	folded = regexp.MustCompile(`\n {9}(\S)`)
	whose  = regexp.MustCompile(`by \S+ \(uid \d+, process \d+\)`)
)

// asOnThePage is what was told, broken into lines anew, since names have other lengths, and by the same user.
func asOnThePage(told string) string {
	told = whose.ReplaceAllString(folded.ReplaceAllString(told, " $1"), "by dba (uid 1000, process 4711)")
	var b strings.Builder
	for line := range strings.Lines(told) {
		if label, text, is := strings.Cut(
			strings.TrimSuffix(line, "\n"),
			": ",
		); is &&
			slices.Contains([]string{"  where", "  left", "  next"}, label) {
			line = fmt.Sprintf("%-8s %s\n", label+":", humanize.Wrapped(text, 100, "         "))
		}
		b.WriteString(line)
	}
	return b.String()
}

const errorsIntroduction = `# What an error reports

Every error that ends a verb has five parts, in the same order, on standard error:

` + "```" + `
midstream: CAUSE
  where: STAGE, OBJECT
  left:  what is left on the server, or of the run
  next:  what to do
` + "```" + `

The stage is ` + "`command line`, `connecting`, `planning`" + `, a phase of the run, or the verb.
The object is a table with its server, a server, or a command.
With ` + "`--json`" + ` the last line has the same as ` + "`error`, `stage`, `object`, `left` and `next`" + ` ([events](events.md#result)).
The [exit code](exit-codes.md) names the kind of error.
A refusal also lists every reason, with its fix.

Commands that Midstream prints can be copied.
If you reached the server by flags, such as ` + "`--host`, `--user` or `--defaults-file`" + `, the commands have them too.
A password is never printed: the command asks for it (` + "`-p`" + `).

The examples below are real: a test makes each error on a real server and compares the output with this page.
`

// Of every exit code, an error that says nothing but its cause gets all five parts, in words and in the record.
func TestFiveParts(t *testing.T) {
	causes := map[int]error{
		exit.Failed: errors.New(
			"x",
		),
		exit.WrongUsage: exit.UsageOf("midstream run --help", errors.New("x")),
		exit.Refused:    &plan.Refused{Blocking: []plan.Risk{{What: "x"}}},
		exit.Aborted:    errInterrupted,
		exit.Unknown:    &failure.Failure{Phase: "cutover", Err: cutover.ErrUnknown},
		exit.Mismatch: &failure.Failure{
			Phase: "verify",
			Err:   failure.ErrMismatch,
		},
		exit.Leftovers: &exit.Error{Code: exit.Leftovers, Err: failure.ErrLeftovers},
		exit.Stopped: &failure.Failure{
			Phase: "copy",
			Err:   errors.New("x"),
			Kept:  true,
		},
		exit.Unfit: &failure.Failure{Phase: "prescan", Err: failure.ErrUnfit},
		exit.NoRun: &exit.Error{
			Code: exit.NoRun,
			Err:  errors.New("x"),
		},
		exit.NotNow:  &exit.Error{Code: exit.NotNow, Err: errors.New("x")},
		exit.Differs: &exit.Error{Code: exit.Differs, Err: errors.New("x")},
		exit.Busy:    &failure.Failure{Phase: "start", Err: leftovers.ErrClaimed, Left: "nothing", Next: "again"},
		exit.AtOnce:  &exit.Error{Code: exit.AtOnce, Err: errLeftAtOnce},
	}
	for _, o := range exit.Outcomes[1:] {
		err, is := causes[o.Code]
		if !is {
			t.Errorf("no cause of exit code %d", o.Code)
			continue
		}
		if code := exit.Code(err, o.Code == exit.Aborted); code != o.Code {
			t.Errorf("%v: exit code %d, not %d", err, code, o.Code)
		}
		a := newApp(Env{})
		a.Begins(exit.Place{Verb: "run", Command: "midstream run", Stage: "planning", Object: "shop.orders on db1:3306"})
		told := a.Teller().ResultOf(migration.Result{}, err, o.Code)
		if told.Error == "" || told.Stage == "" || told.Object == "" || told.Left == "" || told.Next == "" {
			t.Errorf("exit code %d: %+v", o.Code, told)
		}
		contains(
			t, a.Teller().Complaint(err, o.Code), "midstream: ", "\n  where: "+told.Stage+", "+told.Object+"\n",
			"\n  left:  "+told.Left, "\n  next:  ",
		)
	}
}
