package cli

import (
	"strings"
	"testing"
)

// TestEachGroupOfVerbsRefusesAnUnknownOne: a script that mistypes the verb of a verb sees an error, and not a help page.
func TestEachGroupOfVerbsRefusesAnUnknownOne(t *testing.T) {
	root := newApp(Env{}).root()
	groups := 0
	for _, c := range append(root.Commands(), root) {
		if !c.HasSubCommands() {
			continue
		}
		groups++
		if err := c.ValidateArgs([]string{"nosuch"}); err == nil || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("%s nosuch: %v", c.CommandPath(), err)
		}
		if !c.Runnable() { // cobra prints the help of such a group, and reports no error
			t.Errorf("%s does not look at its arguments", c.CommandPath())
		}
	}
	if groups < 3 {
		t.Errorf("%d groups", groups)
	}
}

// nowhere is where no server listens: who gets as far as connecting fails with 1.
var nowhere = []string{"--host=127.0.0.1", "--port=1", "--user=u"}

const anAlter = "ALTER TABLE a.b ADD COLUMN c INT"

// TestUsageMessages: what is wrong is said in our own words, before anything is connected
// to, and an argument that may be meant as the password is not repeated.
func TestUsageMessages(t *testing.T) {
	sideBySide(t)
	host, attached, boolean := "-h is the host", "attach the password to its flag", ": must be true or false"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, exitUsage, host},
		{[]string{"run", "-h"}, exitUsage, host},
		{[]string{"plan", anAlter, "-qh"}, exitUsage, host},
		{[]string{"cleanup", "-h"}, exitUsage, host},
		{[]string{"demo", "-h"}, exitUsage, host},
		{[]string{"sandbox", "run", "-h"}, exitUsage, host},
		{[]string{"run", "-h", "--json", anAlter}, exitUsage, "host --json: it looks like a flag"},
		{[]string{"run", "-h", "db1:3306", anAlter}, exitUsage, "-h db1 -P 3306"},
		{[]string{"cleanup", "--yes", "--host=[::1]:3306", "a.b"}, exitUsage, "-h ::1 -P 3306"},
		{[]string{"run", anAlter, "--workers"}, exitUsage, "--workers needs a value"},
		{[]string{"run", anAlter, "-D"}, exitUsage, "--database needs a value"},

		{[]string{"run", anAlter, "--drop-old=maybe"}, exitUsage, "--drop-old maybe" + boolean},
		{[]string{"run", anAlter, "--quiet=2"}, exitUsage, "--quiet 2" + boolean},
		{[]string{"cleanup", "a.b", "--yes=perhaps"}, exitUsage, "--yes perhaps" + boolean},
		{[]string{"demo", "--keep=x"}, exitUsage, "--keep x" + boolean},
		{[]string{"sandbox", "run", "--durable=x"}, exitUsage, "--durable x" + boolean},
		{[]string{"run", "--help=x"}, exitUsage, "--help x" + boolean},
		{append(nowhere, "run", anAlter, "--drop-old=OFF", "--full-speed=true"), exitFailed, "connection refused"},

		{[]string{"run", "-p", "secret", anAlter}, exitUsage, attached},
		{[]string{"run", "--password", "secret", anAlter}, exitUsage, attached},
		{[]string{"run", "-p", "secret"}, exitUsage, attached},
		{[]string{"run", "-p", ""}, exitUsage, "not one of the accepted statements"},
		{[]string{"plan", "-p", "secret", "--table=a.b", "--alter=ADD COLUMN c INT"}, exitUsage, attached},
		{[]string{"cleanup", "--yes", "-p", "secret", "a.b"}, exitUsage, attached},
		{[]string{"-p", "secret", "run", anAlter}, exitUsage, attached},
		{[]string{"run", "-p", "ALTER", "TABLE", "a.b", "ADD", "c", "INT"}, exitUsage, "put the statement in quotes"},
		{[]string{"run", "-p", "ALTER TABLE b ADD COLUMN c INT"}, exitUsage, "the database of b is missing"},

		{[]string{"help", "nosuch"}, exitUsage, `unknown command or topic "nosuch"`},
		{[]string{"help", "run", "nosuch"}, exitUsage, `unknown command or topic "run nosuch"`},
		{[]string{"sandbox", "runn"}, exitUsage, `unknown command "sandbox runn"; did you mean "run"?`},
		{[]string{"completion", "basj"}, exitUsage, `unknown command "completion basj"; did you mean "bash"?`},
		{[]string{"sandbox", "runn", "--help"}, exitUsage, `unknown command "sandbox runn"; did you mean "run"?`},
		{[]string{"sandbox", "--help", "runn"}, exitUsage, "see midstream help sandbox"},
		{[]string{"completion", "basj", "--help"}, exitUsage, `unknown command "completion basj"; did you mean "bash"?`},
		{[]string{"runn", "--help"}, exitUsage, `unknown command "runn"; did you mean "run"?`},
		{[]string{"--help", "runn"}, exitUsage, `unknown command "runn"`},
		{[]string{"run", "--help"}, exitDone, ""},
		{[]string{"sandbox", "run", "--help"}, exitDone, ""},
		{[]string{"sandbox", "--help"}, exitDone, ""},
		{[]string{"--help"}, exitDone, ""},
		{[]string{"sandbox"}, exitDone, ""},
		{[]string{"completion"}, exitDone, ""},
		{[]string{"undo", "--undo-mode=warm", "a.b"}, exitUsage, "unknown flag: --undo-mode: the mode belongs to the change: midstream run --undo=24h --undo-mode=warm"},
		{[]string{"undo", "--end-undo", "a.b"}, exitUsage, "it belongs to the change: midstream run --end-undo"},
		{[]string{"help"}, exitDone, ""},
		{[]string{"help", "run"}, exitDone, ""},
		{[]string{"help", "sandbox", "run"}, exitDone, ""},
		{[]string{"help", "help"}, exitDone, ""},

		{[]string{"plan"}, exitUsage, `midstream plan "ALTER`},
		{[]string{"plan"}, exitUsage, "see midstream plan --help"},
		{[]string{"run", anAlter, "--ssl-mode=SOME"}, exitUsage, "--ssl-mode SOME: must be DISABLED"},
		{[]string{"run", "--table=a.b", "--alter=" + anAlter}, exitUsage, "leave out ALTER TABLE"},
		{[]string{"demo", "--alter=alter\ttable shop.orders ADD COLUMN c INT"}, exitUsage, "leave out ALTER TABLE"},
		{append(nowhere, "run", "--table=a.b", "--alter=ALTER COLUMN c SET DEFAULT 1"), exitFailed, "connection refused"},
		{append(nowhere, "cleanup", "a.b"), exitUsage, "add --yes"},
	} {
		code, stdout, stderr := midstream(t, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, not %d and %q\n%s\n%s", c.args, code, c.code, c.want, stdout, stderr)
		}
		for _, never := range []string{"secret", "pflag", "strconv", "needs an argument"} {
			if strings.Contains(stderr, never) {
				t.Errorf("%q: %q is in\n%s", c.args, never, stderr)
			}
		}
	}
}
