package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// TestRehearse: the report tells what the run would have been, and the table is as it was.
func TestRehearse(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 5000)
			before := query("SELECT auto_increment FROM information_schema.tables WHERE table_name = 't' AND table_schema = DATABASE()")
			statement := "ALTER TABLE " + name + " MODIFY a BIGINT, ADD COLUMN c INT"
			reach := append([]string{"run", "--method=shadow", statement}, flagsTo(t, i)...)
			code, stdout, stderr := midstream(t, append(reach, "--rehearse")...)
			if code != exit.Done {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(
				t, stdout, "everything but the swap", "dropped at the end", ": "+name+" is unchanged",
				"5,000 copied", "all equal", "capture was behind by at most", "--rehearse-lock takes it",
				"it was dropped",
			)
			if strings.Contains(stdout, "kept as "+name) || strings.Contains(stdout, "Cut-over  ") {
				t.Errorf("it tells of a run:\n%s", stdout)
			}

			code, stdout, stderr = midstream(t, append(reach, "--rehearse-lock", "--keep-shadow")...)
			if code != exit.Done {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(
				t, strings.Join(strings.Fields(stdout), " "), "granted after", "no session blocked it",
				"it is kept as "+name+"_shadow", "midstream verify "+name,
			)
			if got := query(columns); got != "id,a,b" {
				t.Errorf("columns %s", got)
			}
			if got := query(
				"SELECT auto_increment FROM information_schema.tables WHERE table_name = 't' AND table_schema = DATABASE()",
			); got != before {
				t.Errorf("the counter was %s and is %s", before, got)
			}

			code, stdout, _ = midstream(t, append([]string{"verify", name, name + "_shadow", "--settle=100ms"}, flagsTo(t, i)...)...)
			if code != exit.Done {
				t.Errorf("verify: exit code %d\n%s", code, stdout)
			}
			contains(t, stdout, "Equal in 3 columns")
			code, stdout, _ = midstream(t, append([]string{"cleanup", "--yes", name}, flagsTo(t, i)...)...)
			if code != exit.Done {
				t.Errorf("cleanup: exit code %d\n%s", code, stdout)
			}
			contains(t, stdout, "Dropped 2 tables")
			if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
				t.Errorf("tables are %s", got)
			}
		})
	}
}

// TestRehearseTellsJSON: and what is quiet is one line.
func TestRehearseTellsJSON(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 2000)
	reach := append([]string{"run", "--rehearse-lock", "--method=shadow", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)
	code, stdout, stderr := midstream(t, append(reach, "--json")...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var r record.Result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatal(err)
	}
	if r.Outcome != "done" || r.Rehearsal != "rehearsal" || r.Swapped || r.Old != "" || r.Attempts < 1 || r.LockHeldMS <= 0 || r.LockWaitedMS <= 0 ||
		r.ShadowBytes <= 0 || r.Shadow != "" ||
		r.RowsCopied != 2000 {
		t.Errorf("%+v", r)
	}
	contains(t, stdout, `"rehearsal":"rehearsal","table"`, `"phase":"lock"`)
	code, stdout, stderr = midstream(t, append(reach, "--quiet")...)
	if code != exit.Done || stdout == "" || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "is unchanged: rehearsed in") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestRehearseWhatTheServerDoes: what can't be tried without being done is told, and not done.
func TestRehearseWhatTheServerDoes(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	for clauses, wants := range map[string][]string{
		"ADD COLUMN c INT": {"(instant)", "use --method=shadow"},
		"ADD INDEX (b)":    {"(inplace)", "use --method=shadow"},
		"MODIFY a INT":     {"nothing to do"},
	} {
		code, stdout, stderr := midstream(
			t,
			append([]string{"run", "--rehearse-lock", "ALTER TABLE " + name + " " + clauses}, flagsTo(t, i)...)...)
		if code != exit.Done {
			t.Fatalf("%s: exit code %d\n%s\n%s", clauses, code, stdout, stderr)
		}
		contains(t, stdout, append(wants, "nothing is done", ": "+name+" is unchanged", "nothing was done")...)
		if strings.Contains(stdout, "altered") {
			t.Errorf("%s: it says that it was done:\n%s", clauses, stdout)
		}
	}
	if got := query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
	if got := query(
		"SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 't'",
	); got != "2" {
		t.Errorf("%s indexes", got)
	}
}

// TestRehearsalFlags: what they don't go with.
func TestRehearsalFlags(t *testing.T) {
	sideBySide(t)
	code, _, stderr := midstream(t, "run", "--keep-shadow", "ALTER TABLE a.b ADD COLUMN c INT")
	if code != exit.WrongUsage || !strings.Contains(stderr, "--keep-shadow needs --rehearse") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	code, _, stderr = midstream(t, append([]string{"plan", "--on-replica", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	if code != exit.Refused || !strings.Contains(stderr, "does not replicate from another one") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestOnReplicaNeedsASilentAccount: one that may not keep what it writes out of the binlog is told of the GRANT.
func TestOnReplicaNeedsASilentAccount(t *testing.T) {
	sideBySide(t)
	for version, privilege := range map[string]string{"9.7": "SESSION_VARIABLES_ADMIN", "8.0": "SYSTEM_VARIABLES_ADMIN"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			i := mysqltest.Server(t, version)
			name, _ := table(t, i, 10)
			do := executing(t, i, "")
			do("CREATE USER loud@'%' IDENTIFIED BY 'x'", "GRANT SELECT, REPLICATION CLIENT ON *.* TO loud@'%'")
			t.Cleanup(func() { do("DROP USER loud@'%'") })
			host, port, _ := strings.Cut(i.Address, ":")
			code, stdout, stderr := midstream(
				t, "run", "--on-replica", "--host="+host, "--port="+port, "--user=loud", "--password=x",
				"ALTER TABLE "+name+" ADD COLUMN c INT",
			)
			if code != exit.Refused {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(t, stderr, "does not replicate from another one", "GRANT "+privilege+" ON *.* TO 'loud'@'%'")
		})
	}
}

// TestL8_ARehearsalChangesNoWholeTable: a DROP or TRUNCATE is refused instead of made, and a table that the files of --to define is not
// created.
func TestL8_ARehearsalChangesNoWholeTable(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database := strings.TrimSuffix(name, ".t")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}
	for statement, kind := range map[string]string{
		"DROP TABLE t": "DROP TABLE", "TRUNCATE TABLE t": "TRUNCATE TABLE", "RENAME TABLE t TO u": "RENAME TABLE", "CREATE TABLE u (id INT PRIMARY KEY)": "CREATE TABLE",
	} {
		for _, flag := range []string{"--rehearse", "--rehearse-lock"} {
			r.says("run", exit.WrongUsage, statement, []string{flag}, "a "+kind+" cannot be rehearsed")
		}
	}
	to := "--to=" + files(t, map[string]string{"t.sql": wanted("b VARCHAR(200), n INT") + ";", "new.sql": "CREATE TABLE fresh (id INT PRIMARY KEY);"})
	args := append([]string{"run", "--rehearse", "--method=auto", "--database=" + database, to}, flagsTo(t, i)...)
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, strings.Join(strings.Fields(stdout), " "), "2 tables: 1 to be changed or created, 1 rehearsed")
	r.are("t")
	if got := query("SELECT COUNT(*) FROM t"); got != "10" {
		t.Errorf("%s rows are left", got)
	}
}
