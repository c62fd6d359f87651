package cli

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/compat/ghost"
	"midstream/internal/compat/ptosc"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
)

// spokenBy are both programs' presentations, of a command line on shop.orders.
func spokenBy(t *testing.T) map[string]spoken {
	t.Helper()
	byGhost, err := ghost.Read(
		[]string{
			"--host=db1", "--user=ann", "--password=x", "--database=shop", "--table=orders", "--alter=ADD UNIQUE (a)",
			"--attempt-instant-ddl",
		},
		func(string) string { return "" },
		time.Now(),
	)
	if err != nil {
		t.Fatal(err)
	}
	byPT, err := ptosc.Read([]string{"h=db1,u=ann,D=shop,t=orders", "--ask-pass", "--alter=ADD UNIQUE (a)"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]spoken{
		ghostName: ghost.NewSpeaker(byGhost, "test", io.Discard, io.Discard),
		ptoscName: ptosc.NewSpeaker(byPT, io.Discard, io.Discard, func() {}),
	}
}

// TestDropInsSayTheirOwnFlags: an error under another program's command line names that program's
// flags, and commands of midstream in full.
func TestDropInsSayTheirOwnFlags(t *testing.T) {
	refused := &plan.Refused{
		Table: "shop.orders",
		Blocking: []plan.Risk{
			{What: "a lock is held long", Why: "nobody writes meanwhile", Fix: "Choose another time, or --method=shadow, which waits"},
		},
		Others: []plan.Risk{
			{What: "a unique key", Fix: "To find them first: midstream check  \"ALTER TABLE ...\" lists every row"},
			{What: "w", Why: "capture is behind (--max-capture-delay)"},
		},
	}
	failed := &failure.Failure{Phase: "copy", Err: errors.New("x"), Kept: true, Next: "Give it up with: midstream cleanup  shop.orders"}
	wrong := exit.UsageOf("midstream run --help", errors.New("--max-replica-lag x: it is no time"))
	unseen := &exit.Error{
		Code: exit.Failed,
		Err:  errors.New("r1 can't be seen"),
		Next: "name reachable replicas by --replica, or use --unseen-replicas=ignore",
	}
	for program, says := range map[string][]string{
		ghostName: {"or a run without --attempt-instant-ddl, which waits\n", "midstream check --host=db1 --port=3306 --user=ann -p 'ALTER TABLE `shop`.`orders` ADD UNIQUE (a)' lists every row", "(max-capture-delay in [midstream] of ~/.my.cnf)",
			"midstream cleanup --host=db1 --port=3306 --user=ann -p shop.orders\n", "--max-lag-millis x: it is no time\n", "by --throttle-control-replicas, or use unseen-replicas=ignore in [midstream] of ~/.my.cnf\n"},
		ptoscName: {"or a run with --no-drop-old-table, which waits\n", "midstream check --host=db1 --user=ann -p 'ALTER TABLE `shop`.`orders` ADD UNIQUE (a)' lists every row", "(max-capture-delay in [midstream] of ~/.my.cnf)",
			"midstream cleanup --host=db1 --user=ann -p shop.orders\n", "--max-lag x: it is no time\n", "by --check-replica-lag, or use unseen-replicas=ignore in [midstream] of ~/.my.cnf\n"},
	} {
		a := newApp(Env{})
		a.Begins(exit.Place{Verb: program, Command: "midstream " + program, Stage: "planning", Object: "shop.orders"})
		c, _ := a.asRun(spokenBy(t)[program], nil)
		told := ""
		for _, err := range []error{refused, failed, wrong, unseen} {
			told += unwrapped(a.Teller().Complaint(err, exit.Code(err, false)))
		}
		contains(t, told, says...)
		contains(
			t, a.Teller().Complaint(exit.UsageOf(c.help, errors.New("x")), exit.WrongUsage),
			"  where: command line, midstream "+program+"\n", "  next:  see midstream "+program+" --help\n",
		)
	}
}

// unwrapped has each part of a complaint in one line.
func unwrapped(text string) string { return regexp.MustCompile(`\n {9,}`).ReplaceAllString(text, " ") }

// TestHintsCanBeTyped: whatever flag the engine names in any of its texts, under another program's
// command line it is one of that program's, an option of a file, or part of a command.
func TestHintsCanBeTyped(t *testing.T) {
	hint := regexp.MustCompile(`(?:^|[^a-zA-Z-])--([a-z][a-z_-]*[a-z])`)
	command := regexp.MustCompile(`midstream [a-z]+(?: --?[a-z-]+(?:=\S+)?)+`)
	for program, own := range spokenBy(t) {
		a := newApp(Env{})
		a.asRun(own, nil)
		if a.Speech != own.Speech() {
			t.Fatalf("%s: another speech", program)
		}
		n := 0
		for place, text := range literals(t, "engine/plan", "engine/migration", "engine/planning", "engine/native", "engine/tableddl", "engine/throttle", "engine/cutover",
			"engine/lock", "ops/socket", "face/humanize", "mysql/dbconn") {
			for _, m := range hint.FindAllStringSubmatch(command.ReplaceAllString(a.Speech.Of(text), ""), -1) {
				n++
				if !a.Speech.Own[m[1]] && a.Speech.Ours(m[1]) {
					t.Errorf("%s: %s: --%s in %s", program, place, m[1], a.Speech.Of(text))
				}
			}
		}
		if n < 3 {
			t.Errorf("%s: %d flags", program, n)
		}
	}
	for program, own := range spokenBy(t) {
		for ours, said := range own.Speech().Says {
			for _, m := range hint.FindAllStringSubmatch(said, -1) {
				if name := strings.TrimPrefix(m[1], "no-"); !own.Speech().Own[name] {
					t.Errorf("%s has no --%s (for --%s)", program, name, ours)
				}
			}
		}
	}
}

// literals are the texts in the programs of packages, by their places.
func literals(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	files := token.NewFileSet()
	for _, name := range packages {
		paths, err := filepath.Glob("../" + name + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if l, is := node.(*ast.BasicLit); is && l.Kind == token.STRING {
					if text, err := strconv.Unquote(l.Value); err == nil {
						texts[files.Position(l.Pos()).String()] = text
					}
				}
				return true
			})
		}
	}
	return texts
}
