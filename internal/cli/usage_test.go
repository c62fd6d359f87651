package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
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
		{[]string{"-h"}, exit.WrongUsage, host},
		{[]string{"run", "-h"}, exit.WrongUsage, host},
		{[]string{"plan", anAlter, "-qh"}, exit.WrongUsage, host},
		{[]string{"cleanup", "-h"}, exit.WrongUsage, host},
		{[]string{"demo", "-h"}, exit.WrongUsage, host},
		{[]string{"sandbox", "run", "-h"}, exit.WrongUsage, host},
		{[]string{"run", "-h", "--json", anAlter}, exit.WrongUsage, "host --json: it looks like a flag"},
		{[]string{"run", "-h", "db1:3306", anAlter}, exit.WrongUsage, "-h db1 -P 3306"},
		{[]string{"cleanup", "--yes", "--host=[::1]:3306", "a.b"}, exit.WrongUsage, "-h ::1 -P 3306"},
		{[]string{"run", anAlter, "--workers"}, exit.WrongUsage, "--workers needs a value"},
		{[]string{"run", anAlter, "-D"}, exit.WrongUsage, "--database needs a value"},

		{[]string{"run", anAlter, "--drop-old=maybe"}, exit.WrongUsage, "--drop-old maybe" + boolean},
		{[]string{"run", anAlter, "--quiet=2"}, exit.WrongUsage, "--quiet 2" + boolean},
		{[]string{"cleanup", "a.b", "--yes=perhaps"}, exit.WrongUsage, "--yes perhaps" + boolean},
		{[]string{"demo", "--keep=x"}, exit.WrongUsage, "--keep x" + boolean},
		{[]string{"sandbox", "run", "--durable=x"}, exit.WrongUsage, "--durable x" + boolean},
		{[]string{"run", "--help=x"}, exit.WrongUsage, "--help x" + boolean},
		{append(nowhere, "run", anAlter, "--drop-old=OFF", "--full-speed=true"), exit.Failed, "connection refused"},

		{[]string{"run", "-p", "secret", anAlter}, exit.WrongUsage, attached},
		{[]string{"run", "--password", "secret", anAlter}, exit.WrongUsage, attached},
		{[]string{"run", "-p", "secret"}, exit.WrongUsage, attached},
		{[]string{"run", "-p", ""}, exit.WrongUsage, "not one of the accepted statements"},
		{[]string{"plan", "-p", "secret", "--table=a.b", "--alter=ADD COLUMN c INT"}, exit.WrongUsage, attached},
		{[]string{"cleanup", "--yes", "-p", "secret", "a.b"}, exit.WrongUsage, attached},
		{[]string{"-p", "secret", "run", anAlter}, exit.WrongUsage, attached},
		{[]string{"run", "-p", "ALTER", "TABLE", "a.b", "ADD", "c", "INT"}, exit.WrongUsage, "put the statement in quotes"},
		{[]string{"run", "-p", "ALTER TABLE b ADD COLUMN c INT"}, exit.WrongUsage, "the database of b is missing"},

		{[]string{"help", "nosuch"}, exit.WrongUsage, `unknown command or topic "nosuch"`},
		{[]string{"help", "run", "nosuch"}, exit.WrongUsage, `unknown command or topic "run nosuch"`},
		{[]string{"sandbox", "runn"}, exit.WrongUsage, `unknown command "sandbox runn"; did you mean "run"?`},
		{[]string{"completion", "basj"}, exit.WrongUsage, `unknown command "completion basj"; did you mean "bash"?`},
		{[]string{"sandbox", "runn", "--help"}, exit.WrongUsage, `unknown command "sandbox runn"; did you mean "run"?`},
		{[]string{"sandbox", "--help", "runn"}, exit.WrongUsage, "see midstream help sandbox"},
		{[]string{"completion", "basj", "--help"}, exit.WrongUsage, `unknown command "completion basj"; did you mean "bash"?`},
		{[]string{"runn", "--help"}, exit.WrongUsage, `unknown command "runn"; did you mean "run"?`},
		{[]string{"--help", "runn"}, exit.WrongUsage, `unknown command "runn"`},
		{[]string{"run", "--help"}, exit.Done, ""},
		{[]string{"sandbox", "run", "--help"}, exit.Done, ""},
		{[]string{"sandbox", "--help"}, exit.Done, ""},
		{[]string{"--help"}, exit.Done, ""},
		{[]string{"sandbox"}, exit.Done, ""},
		{[]string{"completion"}, exit.Done, ""},
		{[]string{"undo", "--undo-mode=warm", "a.b"}, exit.WrongUsage, "unknown flag: --undo-mode: the mode belongs to the change: midstream run --undo=24h --undo-mode=warm"},
		{[]string{"undo", "--end-undo", "a.b"}, exit.WrongUsage, "it belongs to the change: midstream run --end-undo"},
		{[]string{"help"}, exit.Done, ""},
		{[]string{"help", "run"}, exit.Done, ""},
		{[]string{"help", "sandbox", "run"}, exit.Done, ""},
		{[]string{"help", "help"}, exit.Done, ""},

		{[]string{"plan"}, exit.WrongUsage, `midstream plan "ALTER`},
		{[]string{"plan"}, exit.WrongUsage, "see midstream plan --help"},
		{[]string{"run", anAlter, "--ssl-mode=SOME"}, exit.WrongUsage, "--ssl-mode SOME: must be DISABLED"},
		{[]string{"run", "--table=a.b", "--alter=" + anAlter}, exit.WrongUsage, "leave out ALTER TABLE"},
		{[]string{"demo", "--alter=alter\ttable shop.orders ADD COLUMN c INT"}, exit.WrongUsage, "leave out ALTER TABLE"},
		{append(nowhere, "run", "--table=a.b", "--alter=ALTER COLUMN c SET DEFAULT 1"), exit.Failed, "connection refused"},
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
