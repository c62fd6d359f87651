package ghost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/compat/speech"
)

// TestEveryFlag: the table has every flag of version 1.1.9, in its form, and no other.
func TestEveryFlag(t *testing.T) {
	text, err := os.ReadFile("testdata/flags-1.1.9")
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, form, _ := strings.Cut(strings.TrimSpace(line), " "); name != "#" {
			forms[name] = form
		}
	}
	for _, f := range Flags() {
		kinds := map[kind]string{onOff: "bool", word: "string", whole: "int", real: "float", list: "strings"}
		want := kinds[f.Kind] + " " + f.Default
		if f.Default == "" {
			want += "-"
		}
		switch form, known := forms[f.Name]; {
		case !known:
			t.Errorf("there is no --%s", f.Name)
		case form != want:
			t.Errorf("--%s is %s, not %s", f.Name, form, want)
		case f.Fate != speech.Same && f.Fate != speech.Noted && f.Fate != speech.Refused, f.Becomes == "":
			t.Errorf("--%s: nobody knows what becomes of it", f.Name)
		}
		delete(forms, f.Name)
	}
	for name := range forms {
		t.Errorf("--%s is missing", name)
	}
}

var moment = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// TestReads: what becomes of command lines, as flags of midstream run (with the usual ones left out) or as problems.
func TestReads(t *testing.T) {
	const to = " --database=shop --table orders --alter=ENGINE=InnoDB"
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("[client]\nuser=gromit\npassword=${SECRET}\n[osc]\nmax_load=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	usual := []string{
		"--host=127.0.0.1", "--port=3306", "--database=shop", "--table=`orders`", "--alter=ENGINE=InnoDB",
		"--shadow-name=_orders_gho", "--old-name=_orders_del", "--max-replica-lag=1.5s",
		"--throttle-file=/tmp/gh-ost.throttle", "--lock-give-up=4m0s", "--method=shadow",
	}
	for _, c := range []struct{ line, flags, problem, note string }{
		{line: to[1:]},
		{line: "-host db1 -port=3307 --user ann" + to, flags: "--host=db1 --port=3307 --user=ann"},
		{line: "-host localhost" + to},
		{line: "--conf=" + conf + to, flags: "--user=gromit"},
		{line: "--conf=" + conf + " --user ann" + to, flags: "--user=ann"},
		{line: "--ssl" + to, flags: "--ssl-mode=VERIFY_IDENTITY"},
		{line: "--ssl --ssl-allow-insecure --ssl-ca=/ca" + to, flags: "--ssl-mode=REQUIRED --ssl-ca=/ca"},
		{line: "--nice-ratio 1 --max-lag-millis=500 --max-load=Threads_running=25 --critical-load=Threads_running=99" + to,
			flags: "--copy-share=50% --max-replica-lag=500ms --max-load=Threads_running=25 --critical-load=Threads_running=99"},
		{line: "--max-load=Threads_running=25 --critical-load=Threads_running=99 --critical-load-hibernate-seconds=60" + to, flags: "--max-load=Threads_running=25,Threads_running=99"},
		{line: "--throttle-flag-file /f --throttle-additional-flag-file= --throttle-http=http://a --postpone-cut-over-flag-file=/p" + to,
			flags: "--throttle-file=/f --throttle-url=http://a --cutover-when-gone=/p"},
		{line: "--throttle-control-replicas=r1,r2:3307" + to, flags: "--replica=r1:3306 --replica=r2:3307"},
		{line: "--ok-to-drop-table --timestamp-old-table" + to, flags: "--old-name=_orders_20260304050607_del --drop-old"},
		{line: "--attempt-instant-ddl --ok-to-drop-table" + to, flags: "--drop-old"},
		{line: "--attempt-instant-ddl" + to, flags: "--native-max-lock=1ns --native-max-build=1ns --native-max-replica-stall=1ns"},
		{line: "--force-table-names=x" + to, flags: "--shadow-name=_x_gho --old-name=_x_del"},
		{line: "--default-retries=5 --cut-over-lock-timeout-seconds=2" + to, flags: "--lock-give-up=15s"},
		{line: "--default-retries=4 --cut-over-exponential-backoff --exponential-backoff-max-interval=3" + to, flags: "--lock-give-up=21s"},
		{line: "--chunk-size=50 --assume-rbr --concurrent-rowcount=false" + to, note: "--chunk-size has no effect"},
		{line: "--throttle-query=select_1_from_shop._orders_ghc" + to, note: "the table _orders_ghc does not exist"},
		{line: "--throttle-http=1.2.3.4:80/x" + to, note: "--throttle-http has no effect"},
		{line: to[1:] + " --execute true --ok-to-drop-table", note: `ignored the arguments from "true" on`},
		{line: "--bogus" + to, problem: "flag provided but not defined: -bogus"},
		{line: "--alter", problem: "flag needs an argument: -alter"},
		{line: "--database=a --table=t", problem: "--alter must be provided and statement must not be empty"},
		{line: "--table=t --alter=FORCE", problem: "--database must be provided"},
		{line: "--database=d --alter=FORCE", problem: "--table must be provided"},
		{line: "--checkpoint" + to, flags: "--undo=720h0m0s --undo-method=auto"},
		{line: "--checkpoint --ok-to-drop-table" + to, flags: "--drop-old"},
		{line: "--revert --old-table=_orders_del" + to, flags: "--old-name=_orders_rev_del", note: "--alter was provided with --revert, it will be ignored"},
		{line: "--revert --old-table=_orders_rev_del --checkpoint --ok-to-drop-table" + to, flags: "--drop-old"},
		{line: "--revert --old-table=_x_del --timestamp-old-table --database=d --table=t", flags: "--database=d --old-name=_t_20260304050607_rev_del"},
		{line: "--old-table=_orders_del" + to, note: "--old-table has no effect without --revert"},
		{line: "--revert" + to, problem: "--revert must be called with --old-table"},
		{line: "--revert --old-table=_orders_del --resume" + to, problem: "--revert cannot be used with --resume"},
		{line: "--cut-over=hope" + to, problem: "Unknown cut-over: hope"},
		{line: "--storage-engine=rocksdb" + to, problem: "--storage-engine rocksdb can't be taken"},
		{line: "--ssl-ca=/ca" + to, problem: "--ssl-ca requires --ssl"},
		{line: "--master-user=a" + to, problem: "--master-user requires --assume-master-host"},
		{line: "--include-triggers" + to, problem: "--include-triggers requires --trigger-suffix"},
		{line: "--allow-on-master --test-on-replica" + to, problem: "--allow-on-master and --test-on-replica are mutually exclusive"},
		{line: "--nice-ratio=101" + to, problem: "--nice-ratio must be between 0 and 100"},
		{line: "--conf=/nowhere" + to, problem: "--conf: "},
		{line: "--throttle-control-replicas=a:b" + to, problem: `"a:b" must be host or host:port`},
	} {
		asked, err := Read(strings.Fields(c.line), func(name string) string { return map[string]string{"SECRET": "s3"}[name] }, moment)
		var wrong *Wrong
		switch {
		case c.problem != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v instead of %s", c.line, err, c.problem)
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.line, err)
		case c.problem == "":
			flags := slices.DeleteFunc(asked.Flags(), func(f string) bool { return slices.Contains(usual, f) })
			if got := strings.Join(flags, " "); got != c.flags {
				t.Errorf("%s: %s\n   instead of %s", c.line, got, c.flags)
			}
			if notes := strings.Join(asked.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("%s: no note %q in %s", c.line, c.note, notes)
			}
			if asked.User == "gromit" && (asked.Password == nil || string(*asked.Password) != "s3") {
				t.Errorf("%s: the password is not the variable's", c.line)
			}
		}
	}
}

// TestReadsStatements: --alter may be a whole statement, which names the table; columns that CHANGE
// renames need a word.
func TestReadsStatements(t *testing.T) {
	for _, c := range []struct {
		args          []string
		says, problem string
	}{
		{args: []string{"--alter=ALTER TABLE `shop`.orders ADD COLUMN c INT;"}, says: "shop.orders ADD COLUMN c INT"},
		{args: []string{"--alter=alter table orders force", "--database=shop"}, says: "shop.orders force"},
		{args: []string{"--alter=alter table other force", "--database=shop", "--table=orders"}, problem: "--alter names the table"},
		{args: []string{"--alter=CHANGE a b INT", "--database=shop", "--table=orders"}, problem: "a to b"},
		{args: []string{"--alter=CHANGE a A INT", "--database=shop", "--table=orders"}, says: "shop.orders CHANGE a A INT"},
		{args: []string{"--alter=CHANGE a b INT", "--database=shop", "--table=orders", "--approve-renamed-columns"}, says: "shop.orders CHANGE a b INT"},
		{args: []string{"--alter=RENAME COLUMN a TO b", "--database=shop", "--table=orders"}, says: "shop.orders RENAME COLUMN a TO b"},
	} {
		asked, err := Read(c.args, os.Getenv, moment)
		switch {
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v instead of %s", c.args, err, c.problem)
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.args, err)
		case c.problem == "" && asked.Table.String()+" "+asked.Alter != c.says:
			t.Errorf("%s: %s %s", c.args, asked.Table, asked.Alter)
		}
	}
}

// TestLongNames: names are cut before their suffix.
func TestLongNames(t *testing.T) {
	asked, err := Read(
		[]string{"--alter=FORCE", "--database=d", "--table=" + strings.Repeat("ü", 62), "--timestamp-old-table"},
		os.Getenv, moment,
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := "_" + strings.Repeat("ü", 59) + "_gho"; asked.shadow != want {
		t.Errorf("%s instead of %s", asked.shadow, want)
	}
	if want := "_" + strings.Repeat("ü", 44) + "_20260304050607_del"; asked.old != want {
		t.Errorf("%s instead of %s", asked.old, want)
	}
}

// TestSecrets: arguments with a password are found.
func TestSecrets(t *testing.T) {
	args := []string{
		"--password=secret", "-password", "secret", "--master-password", "secret", "-master-password=secret",
		"--user=a", "--hooks-hint", "x",
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
