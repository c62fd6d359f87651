package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/operator"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/session"
)

// deciding are the flags that decide what an undo does, with a value.
var deciding = []string{
	"--lazy", "--merge", "--park", "--undo-fill=a=1", "--map=x=a", "--key=PRIMARY", "--shadow-name=nosuch", "--old-name=aside", "--method=shadow",
	"--zero-dates", "--no-prescan", "--no-verify", "--repair", "--native-max-lock=1s", "--native-max-build=1s",
	"--native-max-replica-stall=1s",
}

// TestEachFlagOfUndoHasAClass: a flag of undo decides what it does, or is a limit that may be changed during a run, or reaches the
// server, or says how results are told. A new flag needs a class, so that no undo ignores it.
func TestEachFlagOfUndoHasAClass(t *testing.T) {
	classes := strings.Fields(`list end extend plan hold capture capture-from cold
		host port socket user password password-command database defaults-file defaults-extra-file ssl-mode ssl-ca ssl-cert ssl-key
		reconnect wait-for-other on-signal
		json quiet verbose no-color log-file log-format history-dir no-history metrics-file hook hook-timeout hook-veto binlog-reader
		control-dir no-control listen token-file tls-cert tls-key insecure-http result-file swapped print-address
		source-replicates profile replica skip-replica find-replicas unseen-replicas
		apply-workers backlog-limit checkpoint old-snapshots explain no-frontier-rule no-merge help`)
	for _, flag := range deciding {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		classes = append(classes, name)
	}
	_, undo := newApp(Env{}).newUndo()
	undo.Flags().VisitAll(func(f *pflag.Flag) {
		_, limit := operator.SettingOf(f.Name)
		_, never := session.NotForUndo[f.Name]
		if !slices.Contains(classes, f.Name) && !limit && !never {
			t.Errorf("--%s has no class: may it be ignored?", f.Name)
		}
	})
}

// TestU5_NoFlagOfUndoIsIgnored: a flag that cannot act on the undo of this change is refused, with the reason and the next step. The
// record of the change has the old table, whatever --shadow-name says.
func TestU5_NoFlagOfUndoIsIgnored(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for change, useless := range map[string]string{
		"ALTER TABLE t ADD COLUMN n INT": "--merge, --native-max-lock, --native-max-build, --native-max-replica-stall, --method",
		"ALTER TABLE t ADD COLUMN m INT": "--lazy, --merge, --park, --undo-fill", // by the server; with --method=shadow it takes the others
		"ALTER TABLE t ADD COLUMN l INT": "--key, --shadow-name, --old-name, --no-prescan, --no-verify, --repair",
		"DROP TABLE t": "--lazy, --merge, --park, --undo-fill, --key, --shadow-name, --old-name, --method, --zero-dates, --no-prescan, --no-verify, " +
			"--repair, --native-max-build, --native-max-replica-stall",
		"TRUNCATE TABLE t": "--lazy, --undo-fill, --key, --shadow-name, --old-name, --method, --zero-dates, --no-prescan, --no-verify, " +
			"--repair, --native-max-build, --native-max-replica-stall",
		"RENAME TABLE t TO u": "--lazy, --merge, --park, --undo-fill, --key, --shadow-name, --old-name, --method, --zero-dates, --no-prescan, " +
			"--no-verify, --repair, --native-max-build, --native-max-replica-stall",
	} {
		t.Run(change, func(t *testing.T) {
			sideBySide(t)
			r := newFlagRig(t, i)
			method := "--method=auto"
			if strings.HasSuffix(change, "n INT") {
				method = "--method=shadow"
			}
			r.with(exit.Done, "run", "--undo=1h", method, change)
			given := slices.DeleteFunc(slices.Clone(deciding), func(flag string) bool {
				name, _, _ := strings.Cut(flag, "=")
				return name == "--map" || strings.HasSuffix(change, "l INT") && !strings.Contains(useless, name)
			})
			refused := r.with(exit.Refused, "undo", append(given, r.name)...)
			told, _, _ := strings.Cut(refused[strings.Index(refused, "cannot use "):], ":")
			if got := sorted(strings.TrimPrefix(told, "cannot use ")); got != sorted(useless) {
				t.Errorf("refused are\n%s, want\n%s", got, sorted(useless))
			}
			contains(t, refused, "no effect on the undo of ", "Leave them out")
			contains(t, r.with(exit.Refused, "undo", "--map=x=a", r.name), "cannot use --map")
			if !strings.HasPrefix(change, "ALTER") || method != "--method=shadow" {
				contains(t, r.with(exit.Refused, "undo", "--cold", r.name), "cannot use --cold")
			}
			for _, flag := range []string{"--calibrate", "--drop-old", "--drop-later", "--defer-indexes=yes", "--rehearse", "--to=x"} {
				name, _, _ := strings.Cut(flag, "=")
				contains(t, r.with(exit.WrongUsage, "undo", flag, r.name), "midstream undo does not take "+name+": ")
			}
			for _, tends := range []string{"--list", "--end", "--extend=1h"} {
				for _, flag := range []string{"--shadow-name=x", "--hold", "--map=x=a", "--lock-wait=1s", "--log-file=x"} {
					name, _, _ := strings.Cut(flag, "=")
					contains(t, r.with(exit.WrongUsage, "undo", tends, flag, r.name), name+" has no effect with "+strings.TrimSuffix(tends, "=1h"))
				}
			}
			contains(t, r.with(exit.Done, "undo", "--list", r.name), ": open until ")
			if method == "--method=shadow" {
				for _, cold := range []string{"--cold", "--lazy"} {
					contains(t, r.with(exit.Refused, "undo", cold, "--shadow-name=nosuch", r.name),
						"cannot use --shadow-name=nosuch: the last change of the table has the old table "+r.name+"_old", "midstream undo --end "+r.name)
				}
				r.with(exit.Done, "undo", "--shadow-name=t_old", r.name)
			}
			r.ends(strings.HasPrefix(change, "RENAME"))
		})
	}
}

// TestU5_NoFlagOfARedoOfATruncateIsIgnored: the redo takes over no rows.
func TestU5_NoFlagOfARedoOfATruncateIsIgnored(t *testing.T) {
	sideBySide(t)
	r := newFlagRig(t, mysqltest.Server(t, "9.7"))
	r.with(exit.Done, "run", "--undo=1h", "TRUNCATE TABLE t")
	r.with(exit.Done, "undo", "--merge", r.name)
	contains(t, r.with(exit.Refused, "undo", "--merge", r.name), "cannot use --merge: the last TRUNCATE was undone")
	r.ends(false)
}

// TestU5_NoFlagIsIgnoredNextToAFollower: the process that follows has flags of its own. What its settings can change is named.
func TestU5_NoFlagIsIgnoredNextToAFollower(t *testing.T) {
	t.Parallel()
	c := beginControlled(t, 100, "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	for flag, want := range map[string]string{
		"--shadow-name=nosuch": "leave out --shadow-name; or stop it first: " + c.at("abort") + c.name,
		"--merge":              "leave out --merge",
		"--cold":               "leave out --cold",
		"--undo-fill=a=1":      "leave out --undo-fill",
		"--key=PRIMARY":        "leave out --key",
		"--lock-wait=1s":       "change them there: " + c.at("set") + c.name + " lock-wait=...; or stop it first",
		"--hook=on-end=true":   "leave out --hook",
		"--no-verify":          "leave out --no-verify",
		"--log-file=x":         "leave out --log-file",
		"--history-dir=x":      "leave out --history-dir",
	} {
		_, stderr := c.undo(exit.NotNow, flag)
		contains(t, strings.Join(strings.Fields(stderr), " "), "a process follows "+c.name+" for a warm undo", want)
	}
	c.follower(following)
	c.undo(exit.Done, "--lazy")
	c.run.exit()
	c.undo(exit.Done, "--end")
}

// flagRig is a table t of a database, and the program.
type flagRig struct {
	*testing.T
	flags []string
	name  string
}

func newFlagRig(t *testing.T, i *mysqltest.Instance) *flagRig {
	_, database := mysqltest.Database(t, i)
	executing(t, i, database)("CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL)", "INSERT INTO t VALUES (1, 1), (2, 2)")
	return &flagRig{t, append(flagsTo(t, i), "--database="+database), database + ".t"}
}

// with returns all that the program prints, in one line.
func (r *flagRig) with(want int, verb string, args ...string) string {
	r.Helper()
	code, stdout, stderr := midstream(r.T, slices.Concat([]string{verb}, r.flags, args)...)
	if code != want {
		r.Errorf("%s %q: exit code %d, want %d\n%s\n%s", verb, args, code, want, stdout, stderr)
	}
	return strings.Join(strings.Fields(stdout+stderr), " ")
}

// ends gives the undo up, and leaves nothing. A table that was renamed has no old table.
func (r *flagRig) ends(renamed bool) {
	r.with(exit.Done, "undo", "--end", r.name)
	if !renamed {
		r.with(exit.Done, "cleanup", "--old", "--yes", r.name)
	}
}

func sorted(list string) string {
	names := strings.Split(list, ", ")
	slices.Sort(names)
	return strings.Join(names, ", ")
}
