package cli

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/help"
	"midstream/internal/engine/operator"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// The help of the program fits a screen, and leads with what matters; every verb stands in it.
func TestHelpFitsTheScreen(t *testing.T) {
	sideBySide(t)
	code, stdout, _ := midstream(t, "--help")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != exit.Done || len(lines) > 23 { // and the prompt
		t.Errorf("exit code %d, %d lines", code, len(lines))
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for i, f := range help.FirstVerbs {
		if !strings.HasPrefix(lines[2+i], "  midstream "+f.Verb) {
			t.Errorf("line %d is %q", 3+i, lines[2+i])
		}
	}
	root, verbs, _ := documented()
	for _, c := range root.Commands() {
		if !c.Hidden && !c.IsAdditionalHelpTopicCommand() && !slices.Contains(verbs, c) {
			t.Errorf("%s stands in no group of package help", c.Name())
		}
	}
	count := len(help.FirstVerbs)
	for _, g := range help.VerbGroups {
		count += len(g.Names)
	}
	if count != len(verbs) {
		t.Errorf("%d verbs are listed, and there are %d", count, len(verbs))
	}
}

// The help of each verb keeps to the width that it is given, but for what can't be broken, and its
// flags stand once each.
func TestHelpOfVerbs(t *testing.T) {
	_, verbs, topics := documented()
	for _, c := range append(verbs, topics...) {
		text := help.Of(c, 80)
		for _, line := range strings.Split(text, "\n") {
			if len(line) > 80 && !strings.HasPrefix(line, "  midstream ") && !strings.HasPrefix(line, "      --") &&
				c.Name() != "exit-codes" &&
				c.Name() != "completion" {
				t.Errorf("%s: %d columns: %s", c.Name(), len(line), line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			times := strings.Count(text, " --"+f.Name+" ") + strings.Count(text, " --"+f.Name+"\n")
			if f.Name != "help" && f.Hidden == (times > 0) {
				t.Errorf("%s: --%s stands there %d times", c.Name(), f.Name, times)
			}
		})
		for _, g := range help.GroupsOf(c) {
			if g.Title == "Others" {
				t.Errorf("%s: flags that stand in no group of package help:\n%s", c.Name(), g.Flags.FlagUsages())
			}
		}
	}
}

// TestTheHelpOfAVerbBeginsWithItsOwnFlags: what only this verb has comes before what it has in common with others.
func TestTheHelpOfAVerbBeginsWithItsOwnFlags(t *testing.T) {
	for verb, first := range map[string]string{
		"undo": "list", "cutover": "yes", "abort": "keep", "status": "history-dir", "pause": "stop-capture", "submit": "server", "cleanup": "old",
		"verify": "other-host", "report": "list", "serve": "server", "run": "host", "plan": "host",
	} {
		_, verbs, _ := documented()
		at := slices.IndexFunc(verbs, func(c *cobra.Command) bool { return c.Name() == verb })
		var names []string
		help.GroupsOf(verbs[at])[0].Flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if len(names) == 0 || names[0] != first {
			t.Errorf("the help of %s begins with %q", verb, names)
		}
	}
	text := help.Of(newApp(Env{}).undoCommand(), 80)
	if own, more := strings.Index(text, "\n      --cold "), strings.Index(text, "\nMost used:\n"); own < 0 || own > more {
		t.Errorf("--cold is at %d, what undo has in common with run at %d", own, more)
	}
}

// offered is what a shell would be told to offer for the last of the words.
func offered(t *testing.T, args ...string) []string {
	t.Helper()
	code, stdout, stderr := midstream(t, append([]string{"__complete"}, args...)...)
	if code != exit.Done {
		t.Errorf("%q: exit code %d: %s", args, code, stderr)
	}
	var words []string
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		if word, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(word, ":") {
			words = append(words, word)
		}
	}
	return words
}

func TestCompletion(t *testing.T) {
	if got := offered(t, "ab"); !slices.Equal(got, []string{"abort"}) {
		t.Errorf("of ab: %q", got)
	}
	if got := offered(t, "run", "--method", ""); !slices.Equal(got, []string{"auto", "instant", "inplace", "copy", "shadow"}) {
		t.Errorf("of --method: %q", got)
	}
	if got := offered(t, "run", "--kill-bl"); !slices.Equal(got, []string{"--kill-blockers-after"}) {
		t.Errorf("of a flag: %q", got)
	}
	folder := filepath.Join(t.TempDir(), "c")
	s, err := socket.Serve(folder, socket.Run{
		About:   socket.About{Table: "shop.orders", Server: "db1:3306"},
		Control: operator.NewControl(operator.CommandLineDefaults()), Stopped: func() string { return "" }, Lost: func() string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(record.Result{}) })
	for _, verb := range []string{"status", "watch", "pause", "set", "abort", "blockers"} {
		if got := offered(t, verb, "--control-dir="+folder, ""); !slices.Equal(got, []string{"shop.orders"}) {
			t.Errorf("of %s: %q", verb, got)
		}
	}
	if got := offered(
		t,
		"set",
		"--control-dir="+folder,
		"shop.orders",
		"lock-w",
	); !slices.Contains(got, "lock-wait=") ||
		len(got) != len(operator.AllSettings()) {
		t.Errorf("of set: %q", got)
	}
	told := t.TempDir()
	w, err := history.Begin(told, record.Run{Table: "shop.items", Process: 7}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := offered(
		t,
		"report",
		"--history-dir="+told,
		"",
	); !slices.Equal(
		got, []string{"shop.items", "20260102T030405.000Z-shop.items-7"},
	) {
		t.Errorf("of report: %q", got)
	}
}

// What is offered goes through bash itself.
func TestCompletionInBash(t *testing.T) {
	sideBySide(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, script, _ := midstream(t, "completion", shell); code != exit.Done || !strings.Contains(script, "__complete") {
			t.Errorf("%s: exit code %d, script of %d bytes", shell, code, len(script))
		}
	}
	_, script, _ := midstream(t, "completion", "bash")
	cmd := command(t)
	run := exec.Command(bash, "-c", `midstream() { "$MIDSTREAM" "$@"; }
`+script+`
_get_comp_words_by_ref() { words=(midstream plan --method in) cword=3 cur=in prev=--method; }
COMP_TYPE=9 COMP_LINE="midstream plan --method in" COMP_POINT=26
__start_midstream 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"`)
	run.Env = append(cmd.Env, "MIDSTREAM="+cmd.Path)
	got, err := run.Output()
	if err != nil || strings.TrimSpace(string(got)) != "instant\ninplace" {
		t.Errorf("bash offers %q, %v", got, err)
	}
}

func TestVersion(t *testing.T) {
	sideBySide(t)
	if code, stdout, _ := midstream(
		t,
		"version",
		"--json",
	); code != exit.Done || !strings.Contains(stdout, `"version":"test","commit":"`) ||
		!strings.Contains(stdout, `"go":"go1.`) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if code, stdout, _ := midstream(t, "version"); code != exit.Done || !strings.Contains(stdout, "midstream test\ncommit ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
