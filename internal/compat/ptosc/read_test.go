package ptosc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"midstream/internal/compat/speech"
)

// TestEveryOption: the table has every option of version 3.7, in its form, and no other.
func TestEveryOption(t *testing.T) {
	text, err := os.ReadFile("testdata/options-3.7")
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, form, _ := strings.Cut(strings.TrimSpace(line), " "); name != "#" {
			forms[name] = form
		}
	}
	for _, o := range Options() {
		form, known := forms[o.Name]
		delete(forms, o.Name)
		fields := strings.Fields(form + " - - -")
		kinds := map[string][]kind{
			"-":      {onOff, yesNo},
			"string": {word, dsn},
			"int":    {whole},
			"float":  {real},
			"size":   {volume},
			"time":   {span},
			"Array":  {list},
			"array":  {list},
			"DSN":    {dsn},
		}
		switch {
		case !known:
			t.Errorf("there is no --%s", o.Name)
		case fields[0] != o.Short && !(fields[0] == "-" && o.Short == ""):
			t.Errorf("--%s is -%s, not -%s", o.Name, fields[0], o.Short)
		case !slices.Contains(kinds[fields[1]], o.Kind), (fields[2] == "yes") != (o.Kind == yesNo):
			t.Errorf("--%s is %s, not %q", o.Name, form, o.Kind)
		case fields[2] != "-" && fields[2] != o.Default:
			t.Errorf("--%s is %s by default, not %s", o.Name, fields[2], o.Default)
		case o.Fate != speech.Same && o.Fate != speech.Similar && o.Fate != speech.Noted && o.Fate != speech.Refused, o.Becomes == "":
			t.Errorf("--%s: nobody knows what becomes of it", o.Name)
		}
	}
	for name := range forms {
		t.Errorf("--%s is missing", name)
	}
}

// TestReads: what becomes of command lines, as flags of midstream run (with those of the target and
// the defaults left out) or as problems.
func TestReads(t *testing.T) {
	const to = " D=shop,t=orders --execute"
	const usual = "--lock-give-up=10m10s --drop-old"
	for _, c := range []struct{ line, flags, problem, note string }{
		{line: "h=db1,P=3307,u=ann,D=shop,t=orders --execute", flags: "--host=db1 --port=3307 --user=ann " + usual},
		{line: "-hdb1 -P 3307 -u ann -S /s" + to, flags: "--host=db1 --port=3307 --user=ann --socket=/s " + usual},
		{line: "db1,D=shop,t=orders --exec -qFmy.cnf", flags: "--host=db1 --defaults-file=my.cnf " + usual},
		{line: "-h db2 h=db1,D=shop,t=orders --dry-run", flags: "--host=db1 --drop-old"},
		{line: "-D shop t=orders --mysql_ssl 1", flags: "--ssl-mode=REQUIRED --drop-old"},
		{line: "-h db1;mysql_ssl=1;mysql_ssl_client_ca=/ca.pem -P 3307" + to, flags: "--host=db1 --port=3307 --ssl-mode=VERIFY_CA --ssl-ca=/ca.pem " + usual},
		{line: "h=db1;mysql_ssl=1,D=shop,t=orders --execute", flags: "--host=db1 --ssl-mode=REQUIRED " + usual},
		{line: "-h db1;mysql_ssl=0;port=3308;mysql_socket=/s" + to, flags: "--host=db1 --port=3308 --socket=/s " + usual},
		{
			line:  "-h db1;mysql_ssl_ca_file=/ca;mysql_ssl_client_cert=/c;mysql_ssl_client_key=/k" + to,
			flags: "--host=db1 --ssl-mode=VERIFY_CA --ssl-ca=/ca --ssl-cert=/c --ssl-key=/k " + usual,
		},
		{line: "--check-slave-lag h=r1;mysql_ssl=1" + to, flags: "--find-replicas=false --replica=r1:3306 " + usual},
		{line: "-h db1;mysql_compression=1" + to, problem: "Unknown setting 'mysql_compression' of the host 'db1;mysql_compression=1'"},
		{line: "--max-load Threads_running:30,Threads_connected=900 --critical-load=Threads_running=9 --max-lag=2m" + to,
			flags: "--max-load=Threads_running=30,Threads_connected=900 --critical-load=Threads_running=9 --max-replica-lag=2m0s " + usual},
		{line: "--chunk-time 1 --sleep 0.25 --pause-file /p" + to, flags: "--chunk-time=1s --copy-share=80% --throttle-file=/p " + usual},
		{line: "--tries swap_tables:5:2,copy_rows:3:1 --set-vars lock_wait_timeout=3" + to, flags: "--lock-give-up=25s --drop-old", note: "--set-vars lock_wait_timeout"},
		{line: "--nodrop-old-table" + to, flags: "--lock-give-up=10m10s --method=shadow"},
		{line: "--no-drop-triggers" + to, flags: "--lock-give-up=10m10s --method=shadow"},
		{line: "--reverse-triggers --no-drop-old-table" + to,
			flags: "--lock-give-up=10m10s --undo=720h0m0s --undo-mode=warm --method=shadow", note: "--reverse-triggers makes no triggers"},
		{line: "--reverse-triggers --no-drop-triggers" + to, flags: "--lock-give-up=10m10s --undo=720h0m0s --undo-mode=warm --method=shadow"},
		{line: "--reverse-triggers --no-drop-old-table --no-swap-tables" + to, flags: "--rehearse --method=shadow", note: "no effect with --no-swap-tables"},
		{line: "--reverse-triggers" + to, problem: "--reverse-triggers requires --no-drop-old-table"},
		{line: "--where id>5" + to, flags: "--lock-give-up=10m10s --keep=id>5 --method=shadow"},
		{line: "--where id>5 --reverse-triggers" + to, problem: "--reverse-triggers requires --no-drop-old-table"},
		{line: "--no-swap-tables" + to, flags: "--rehearse --drop-old --method=shadow"},
		{line: "--no-swap --no-drop-new" + to, flags: "--rehearse --keep-shadow --drop-old --method=shadow"},
		{line: "--recursion-method none" + to, flags: "--find-replicas=false " + usual},
		{line: "--check-slave-lag h=r1,P=3307 --skip-check-replica-lag r2" + to, flags: "--find-replicas=false --replica=r1:3307 --skip-replica=r2:3306 " + usual},
		{line: "-P 3310 --check-replica-lag h=r1" + to, flags: "--port=3310 --find-replicas=false --replica=r1:3310 " + usual},
		{line: "--chunk-size 5k --no-check-alter --no-version-check" + to, flags: usual, note: "--chunk-size has no effect"},
		{line: "--no-analyze-before-swap" + to, flags: usual, note: "--analyze-before-swap has no effect"},

		{line: "", problem: "A DSN must be specified"},
		{line: "D=shop --execute", problem: "The DSN must specify a database (D) and a table (t)"},
		{line: "D=shop,t=orders a", problem: "Specify only one DSN on the command line"},
		{line: "--dry-run" + to, problem: "--dry-run and --execute are mutually exclusive."},
		{line: "X=1" + ",D=shop,t=orders,p=secret", problem: "Unknown DSN option 'X' in 'X=1,D=shop,t=orders,p=...'"},
		{line: "--bogus" + to, problem: "Unknown option: bogus"},
		{line: "--ch 1" + to, problem: "Option ch is ambiguous (channel, charset, check-alter"},
		{line: "D=shop,t=orders --alter", problem: "Option alter requires an argument"},
		{line: "--port x" + to, problem: `Value "x" invalid for option port (number expected)`},
		{line: "--execute=yes D=shop,t=orders", problem: "Option execute does not take an argument"},
		{line: "--progress hours,3" + to, problem: "--progress spec array's first element must be one of percentage,time,iterations"},
		{line: "--max-lag 5y" + to, problem: "Invalid time suffix for --max-lag"},
		{line: "--max-load 5=a" + to, problem: "Invalid --max-load: 5 is not a variable name"},
		{line: "--tries swap:1:1" + to, problem: "Invalid --tries operation: swap"},
		{line: "--recursion-method=magic" + to, problem: "Invalid recursion method: magic"},
		{line: "--alter-foreign-keys-method=hope" + to, problem: "Invalid --alter-foreign-keys-method value: hope"},
		{line: "--plugin x.pm" + to, problem: "--plugin can't be taken: There is no Perl here"},
		{line: "--set-vars sql_log_bin=0" + to, problem: "--set-vars sql_log_bin is refused"},
		{line: "--config /nowhere" + to, problem: "Cannot open /nowhere"},
		{line: "D=shop,t=orders --config /nowhere", problem: "Unknown option: config"},
	} {
		asked, err := Read(strings.Fields(c.line), "")
		var wrong *Wrong
		switch {
		case c.problem != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v instead of %s", c.line, err, c.problem)
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.line, err)
		case c.problem == "":
			flags := slices.DeleteFunc(asked.Flags(), func(f string) bool {
				return slices.Contains(
					[]string{
						"--database=shop", "--table=`orders`", "--alter=ENGINE = InnoDB",
						"--max-load=Threads_running=25", "--critical-load=Threads_running=50", "--max-replica-lag=1s",
					},
					f,
				)
			})
			if got := strings.Join(flags, " "); got != c.flags {
				t.Errorf("%s: %s\n   instead of %s", c.line, got, c.flags)
			}
			if notes := strings.Join(asked.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("%s: no note %q in %s", c.line, c.note, notes)
			}
		}
	}
}

// TestFiles: options stand in files, before those of the command line, which count more; --config names others.
func TestFiles(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".percona-toolkit.conf", "# of all tools\nuser = ann\nmax-lag=5\n\n; more\nno-version-check\n")
	write(".pt-online-schema-change.conf", "max-lag = 7   # seconds\nalter=ADD COLUMN c INT DEFAULT 5\n--\nD=shop,t=orders\n")
	other := write("other.conf", "max-lag=9\n")
	for line, want := range map[string]string{
		"--execute":                            "ann 7s ADD COLUMN c INT DEFAULT 5",
		"--execute --max-lag 8 --user bob":     "bob 8s ADD COLUMN c INT DEFAULT 5",
		"--config " + other + " D=shop,t=a -q": " 9s ENGINE = InnoDB",
	} {
		asked, err := Read(strings.Fields(line), home)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		lag := ""
		for _, f := range asked.Flags() {
			if value, is := strings.CutPrefix(f, "--max-replica-lag="); is {
				lag = value
			}
		}
		if got := asked.Server.User + " " + lag + " " + asked.Alter; got != want {
			t.Errorf("%s: %s instead of %s", line, got, want)
		}
	}
}

// TestSecrets: arguments with a password are found.
func TestSecrets(t *testing.T) {
	args := []string{
		"-psecret", "--password=secret", "--password", "secret", "h=a,p=secret,D=d", "p=secret", "-p", "secret",
		"--replica-password=secret", "--slave-password", "secret", "--port=3", "--pass", "secret", "--slave-pass", "secret", "--ask-pass", "h=a",
	}
	found := Secrets(args)
	for i, arg := range args {
		from, is := found[i]
		if is != strings.Contains(arg, "secret") {
			t.Errorf("%s: %t", arg, is)
		} else if is && !strings.HasPrefix(arg[from:], "secret") {
			t.Errorf("%s from %d", arg, from)
		}
	}
}
