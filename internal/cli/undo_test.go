package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestUndoSpeaksOfTheUndo: a change reports how it is undone, and its undo speaks of that change. Without a
// record, undo is refused and names what to do.
func TestUndoSpeaksOfTheUndo(t *testing.T) {
	mysqltest.Seldom(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, _ := table(t, i, 1000)
		histories := t.TempDir()
		with := func(verb string, args ...string) (code int, stdout, stderr string) {
			return midstream(t, append(append([]string{verb}, flagsTo(t, i)...), args...)...)
		}
		code, _, stderr := with("undo", name)
		if code != exit.Refused {
			t.Errorf("exit code %d", code)
		}
		contains(t, stderr, "no change of this table can be undone", "--undo=24h")

		code, stdout, stderr := with("run", "--no-color", "--undo=24h", "--method=shadow", "--history-dir="+histories, "ALTER TABLE "+name+" ADD COLUMN added INT")
		if code != exit.Done {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, "it gives up the values of the new column added", "To undo it, until ", "midstream undo ")
		_, stdout, _ = with("undo", "--list", name)
		contains(t, stdout, "open until ", "ADD COLUMN added INT", "How        an undo syncs the rows that have changed", "Unfit rows not checked", "the values of column added")
		_, stdout, _ = with("undo", "--list", "--quiet", name)
		contains(t, stdout, name+" open ", " lazy - ")
		_, stdout, _ = with("undo", "--list", "--json", name)
		contains(t, stdout, `"mode":"lazy"`, `"unfit":null`, `"behind":null`, `"lost":["added"]`)
		code, stdout, _ = midstream(t, "status", "--history-dir="+histories, name)
		if code != exit.Done {
			t.Errorf("status while an undo is open: exit code %d", code)
		}
		contains(t, stdout, "No run on "+name+" is active", "the undo of its last change on ", " is open until ", "midstream undo --list "+name)
		_, _, stderr = with("undo", name+"_old")
		contains(t, stderr, "is the old table of "+name+"; did you mean "+name+"?")
		for want, args := range map[string][]string{
			"these flags exclude each other: --end, --list":  {"--end", "--list"},
			"these flags exclude each other: --cold, --lazy": {"--cold", "--lazy"},
			"must be column=expression":                      {"--undo-fill=added"},
			"unknown flag: --undo-mode":                      {"--undo-mode=warm"},
			"does not take --rehearse: an undo cannot be":    {"--rehearse"},
			"does not take --alter":                          {"--alter=DROP COLUMN added"},
			"--extend 0s: must be between 1s":                {"--extend=0s"},
		} {
			if code, _, stderr = with("undo", append(args, name)...); code != exit.WrongUsage {
				t.Errorf("%s: exit code %d", args, code)
			}
			contains(t, stderr, want)
		}
		for want, flag := range map[string]string{
			"has dropped no column nothing": "--undo-fill=nothing=1",
			"has no effect":                 "--merge",
		} {
			if code, _, stderr = with("undo", flag, name); code != exit.Refused {
				t.Errorf("%s: exit code %d", flag, code)
			}
			contains(t, stderr, want)
		}
		if code, _, stderr = with("undo", "ALTER TABLE "+name+" DROP COLUMN added"); code != exit.WrongUsage {
			t.Errorf("a statement: exit code %d", code)
		}
		contains(t, stderr, "takes the name of a table, and no statement: midstream undo "+name)
		rehearsing := filepath.Join(t.TempDir(), "rehearse.cnf")
		if err := os.WriteFile(rehearsing, []byte("[midstream]\nrehearse\nundo = 24h\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr = midstream(t, slices.Concat([]string{"undo", "--defaults-file=" + rehearsing}, flagsTo(t, i), []string{name})...); code != exit.WrongUsage {
			t.Errorf("an option file rehearses: exit code %d", code)
		}
		contains(t, stderr, "an undo cannot be rehearsed, but an option file has")
		if code, _, stderr = with("undo", "--extend=48h", name); code != exit.Done {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		if code, stdout, stderr = with("undo", "--no-color", name); code != exit.Done {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, "undo of the change of ", "old table taken over", "To redo it, until "+time.Now().UTC().Add(72*time.Hour).Format(time.DateOnly))
		redoneIsAChange(t, with, name)
		if code, stdout, stderr = with("undo", "--end", name); code != exit.Done {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, "gave up the undo of the last change of "+name, "Dropped    "+name+"_undo", "Kept       "+name+"_undone", "cleanup --old")
		coldOnly(t, with, name)
		if code, _, stderr = with("undo", "--list", name+"_none"); code != exit.Refused {
			t.Errorf("a table that does not exist: exit code %d", code)
		}
		contains(t, stderr, "no such table: "+name+"_none")
		_, _, stderr = with("undo", name+"_none")
		contains(t, stderr, "no change of this table can be undone: no such table: "+name+"_none")
		if code, _, stderr = with("cleanup", "--old", "--yes", name); code != exit.Done {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		_, stdout, _ = with("undo", "--list", name)
		contains(t, stdout, "The last change of "+name+" on ", "cannot be undone")
	})
}

// coldOnly undoes and redoes a change whose undo was ended: nothing is kept of it but the old table.
func coldOnly(t *testing.T, with func(verb string, args ...string) (code int, stdout, stderr string), name string) {
	t.Helper()
	_, stdout, _ := with("undo", "--list", name)
	contains(t, stdout, name+": ended, because nothing was kept of its change; a cold undo", "is possible while "+name+"_undone exists",
		"midstream undo --cold "+name, "takes it back, by all rows")
	_, stdout, _ = with("undo", "--list", "--json", name)
	contains(t, stdout, `"state":"ended"`, `"mode":"cold"`, `"open_until":"0001-01-01T00:00:00Z"`)
	_, stdout, _ = with("undo", "--list", "--quiet", name)
	contains(t, stdout, name+" ended - cold - undo\n")
	code, _, stderr := with("undo", "--lazy", name)
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "the undo is revoked", "midstream undo --cold")
	code, _, stderr = with("undo", name)
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "nothing was kept of it; there is an old table, ", "midstream undo --plan --cold "+name)
	if code, stdout, stderr = with("undo", "--cold", "--no-color", name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, "undo of the change at an unknown time", "(DROP COLUMN `added`)", "nothing was kept of the change: the undo syncs",
		"columns come back with the values that", "foreign keys and triggers that the change has", "the definition of its old table", "To redo it, until ")
	code, _, stderr = with("undo", "--map=added=other", name)
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "cannot use --map added=other: the record of the change has")
	if code, _, stderr = with("undo", name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr = with("undo", "--end", name); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestU4_ThePlanNamesWhatAnUndoNeeds: a dropped column without a default, and values that the way back rounds.
func TestU4_ThePlanNamesWhatAnUndoNeeds(t *testing.T) {
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		_, database := mysqltest.Database(t, i)
		executing(t, i, database)("CREATE TABLE n (id INT PRIMARY KEY, st VARCHAR(9) NOT NULL, g INT NOT NULL DEFAULT 3, d DECIMAL(10,2))")
		with := func(verb string, args ...string) string {
			_, stdout, _ := midstream(t, append(append([]string{verb}, flagsTo(t, i)...), args...)...)
			return stdout
		}
		for _, method := range []string{"auto", "shadow"} {
			stdout := with("plan", "--json", "--undo=24h", "--method="+method, "ALTER TABLE "+database+".n DROP COLUMN st, DROP COLUMN g, MODIFY d DECIMAL(12,4)")
			contains(t, stdout, `"fills":["st"]`, `"changes":"values of column d may change: they are rounded to 2 decimals"`)
		}
		contains(t, with("plan", "--undo=24h", "ALTER TABLE "+database+".n DROP COLUMN st"), "--undo-fill")
	})
}

// redoneIsAChange undoes a change again that was undone: the redo is called a redo, and after it the change is a change again.
func redoneIsAChange(t *testing.T, with func(verb string, args ...string) (code int, stdout, stderr string), name string) {
	t.Helper()
	_, stdout, _ := with("undo", "--list", name)
	contains(t, stdout, "Change     undo of ", "How        the redo syncs", "is the redo: it makes")
	code, _, stderr := with("run", "--method=shadow", "ALTER TABLE "+name+" ADD COLUMN other INT")
	if code != exit.Refused {
		t.Errorf("a change during an open redo: exit code %d", code)
	}
	contains(t, stderr, "was undone, and can be redone until ", "Give the redo up:")
	if code, stdout, stderr = with("undo", "--no-color", name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, "redo: it takes back the undo", "To undo it, until ")
	_, stdout, _ = with("undo", "--list", name)
	contains(t, stdout, "Change     change of ", "How        an undo syncs", "takes it back")
	_, stdout, _ = with("undo", "--list", "--json", name)
	contains(t, stdout, `"redo":false`)
	if code, stdout, stderr = with("undo", "--no-color", name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, "undo of the change of ", "To redo it, until ", "Kept for that: "+name+"_undone")
}

// TestU3_AnAccountThatMayNotSeeAnUndoIsTold: without privileges an account sees no table of Midstream. It is told which privilege
// that takes, and not that nothing can be undone.
func TestU3_AnAccountThatMayNotSeeAnUndoIsTold(t *testing.T) {
	sideBySide(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, _ := table(t, i, 1)
		database, _, _ := strings.Cut(name, ".")
		exec := executing(t, i, database)
		exec("DROP USER IF EXISTS blind", "CREATE USER blind IDENTIFIED BY 'secret'", "GRANT SELECT ON "+name+" TO blind")
		defer exec("DROP USER blind")
		reach := slices.DeleteFunc(flagsTo(t, i), func(f string) bool { return strings.HasPrefix(f, "--user") || strings.HasPrefix(f, "--password") })
		reach = append(reach, "--user=blind", "--password=secret")
		grant := "fix: GRANT SELECT ON `" + strings.ReplaceAll(database, "_", `\_`) + "`.* TO 'blind'@'%'"
		all := strings.Replace(grant, "SELECT", "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES", 1)
		for want, args := range map[string][]string{
			"It lacks SELECT ON *.*": {"--list"},
			grant:                    {"--list", name},
			all:                      {name},
			all + " ":                {"--cold", name},
			strings.Replace(grant, "SELECT", "SELECT, DROP", 1):           {"--end", name},
			strings.Replace(grant, "SELECT", "SELECT, INSERT, UPDATE", 1): {"--extend=1h", name},
		} {
			code, stdout, stderr := midstream(t, slices.Concat([]string{"undo"}, reach, args)...)
			contains(t, strings.Join(strings.Fields(stdout+stderr), " "), strings.TrimSpace(want))
			if len(args) > 1 && code != exit.Refused {
				t.Errorf("%q: exit code %d", args, code)
			}
		}
		exec("GRANT SELECT ON "+database+".* TO blind", "CREATE TABLE k (id INT PRIMARY KEY)")
		other := database + ".k"
		if code, _, stderr := midstream(t, slices.Concat([]string{"run", "--undo=1h"}, flagsTo(t, i), []string{"TRUNCATE TABLE " + other})...); code != exit.Done {
			t.Fatal(stderr)
		}
		for want, flag := range map[string]string{"GRANT DROP ON": "--end", "GRANT INSERT, UPDATE ON": "--extend=1h"} {
			code, _, stderr := midstream(t, slices.Concat([]string{"undo"}, reach, []string{flag, other})...)
			if code != exit.Refused {
				t.Errorf("%s: exit code %d", flag, code)
			}
			contains(t, strings.Join(strings.Fields(stderr), " "), want)
		}
		for _, done := range [][]string{{"undo", "--end"}, {"cleanup", "--old", "--yes"}} {
			midstream(t, slices.Concat(done, flagsTo(t, i), []string{other})...)
		}
	})
}
