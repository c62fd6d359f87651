package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// scratchFile is an option file that leads to a server.
func scratchFile(t *testing.T, i *mysqltest.Instance, user, password string) string {
	t.Helper()
	lines := fmt.Sprintf("[client]\nuser=%s\npassword=%s\n", user, password)
	if host, port, tcp := strings.Cut(i.Address, ":"); tcp && i.Network == "tcp" {
		lines += "host=" + host + "\nport=" + port + "\n"
	} else {
		lines += "socket=" + i.Address + "\n"
	}
	path := filepath.Join(t.TempDir(), "scratch.cnf")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reader makes an account that can read the server, and no more. It returns the flags that reach the server so.
func reader(t *testing.T, i *mysqltest.Instance, grants ...string) []string {
	t.Helper()
	db := i.Open(t, "")
	for _, s := range append([]string{"CREATE USER reader IDENTIFIED BY 'Reader-1'"}, grants...) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP USER reader"); err != nil {
			t.Error(err)
		}
	})
	var flags []string
	for _, f := range flagsTo(t, i) {
		if !strings.HasPrefix(f, "--user=") && !strings.HasPrefix(f, "--password=") {
			flags = append(flags, f)
		}
	}
	return append(flags, "--user=reader", "--password=Reader-1")
}

// TestL8_APlanWithAScratchServerWritesNothing: an account that only reads gets the plan of an account with all privileges. The questions
// are asked on the scratch server, and both servers are as they were.
func TestL8_APlanWithAScratchServerWritesNothing(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "mariadb-11.8", "8.0", "5.7", "mariadb-10.11") {
		t.Run(version, func(t *testing.T) {
			i := mysqltest.OwnAll(t, version, sandbox.Options{}, sandbox.Options{})
			here, there := i[0], i[1]
			name, query := table(t, here, 100)
			database, _, _ := strings.Cut(name, ".")
			do := executing(t, here, database)
			do("CREATE TABLE parent (id INT NOT NULL PRIMARY KEY)", "INSERT INTO parent SELECT DISTINCT a FROM t",
				"ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES parent (id)",
				"SET GLOBAL sql_mode = 'NO_ZERO_DATE,STRICT_TRANS_TABLES,ANSI_QUOTES'")
			executing(t, there, "")("CREATE USER ours IDENTIFIED BY 'Scratch-1'", "GRANT ALL ON `midstream\\_scratch\\_%`.* TO ours",
				"GRANT PROCESS ON *.* TO ours", "SET GLOBAL sql_mode = ''") // the sessions take the other one
			const schemas = "SELECT GROUP_CONCAT(schema_name ORDER BY 1) FROM information_schema.schemata"
			thereDB := there.Open(t, "")
			objects := func() string {
				return query("SELECT GROUP_CONCAT(table_name, table_comment ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()") +
					query(schemas) + mysqltest.Text(thereDB, schemas)
			}
			before := objects()
			flags := append(reader(t, here, "GRANT SELECT ON *.* TO reader", "GRANT PROCESS, REFERENCES ON *.* TO reader"),
				"--scratch-defaults-file="+scratchFile(t, there, "ours", "Scratch-1"))
			for _, clauses := range []string{"ADD COLUMN c INT", "ADD INDEX i (b)", "MODIFY b VARCHAR(300)", "MODIFY a BIGINT",
				"ADD CONSTRAINT f2 FOREIGN KEY (id) REFERENCES parent (id)", "DROP FOREIGN KEY fk",
				"ADD COLUMN d DATE DEFAULT '0000-00-00'",
				"ADD COLUMN e TIMESTAMP NULL, ADD COLUMN f INT, ALGORITHM=INSTANT", "DROP INDEX a, ADD INDEX a (a, b)",
				"ADD q INTT", "DROP COLUMN nothing"} {
				statement := "ALTER TABLE " + name + " " + clauses
				wantCode, want, wantErr := midstream(t, append([]string{"plan", "--json", statement}, flagsTo(t, here)...)...)
				code, got, errors := midstream(t, append([]string{"plan", "--json", statement}, flags...)...)
				if code != wantCode || methodIn(got) != methodIn(want) {
					t.Errorf("%s: exit code %d, %s; without a scratch server %d, %s\n%s%s\n%s", clauses, code, methodIn(got), wantCode, methodIn(want),
						got, errors, wantErr)
				}
				if code == exit.Done {
					contains(t, got, "lacks", "GRANT ", "the questions that need a table were asked on "+there.Address)
				}
			}
			if after := objects(); after != before {
				t.Errorf("before: %s\nafter: %s", before, after)
			}
		})
	}
}

// methodIn is the method in the JSON of a plan; "" if there is none.
func methodIn(text string) string {
	_, rest, _ := strings.Cut(text, `"method":"`)
	method, _, _ := strings.Cut(rest, `"`)
	return method
}

// TestL8_AnUnlikeScratchServerIsRefused: another version, another setting that no session can have, and the server itself.
func TestL8_AnUnlikeScratchServerIsRefused(t *testing.T) {
	here := mysqltest.Server(t, "9.7")
	name, _ := table(t, here, 10)
	planned := func(more ...string) (int, string) {
		code, _, stderr := midstream(t, append(append([]string{"plan", "ALTER TABLE " + name + " ADD COLUMN c INT"}, more...), flagsTo(t, here)...)...)
		return code, stderr
	}
	file := func(i *mysqltest.Instance) string {
		return "--scratch-defaults-file=" + scratchFile(t, i, i.User, i.Password)
	}
	like := mysqltest.Own(t, "9.7", sandbox.Options{})
	executing(t, like, "")("SET GLOBAL innodb_default_row_format = 'COMPACT'")
	for want, args := range map[string][]string{
		"has version":                          {file(mysqltest.Server(t, "8.0"))},
		"innodb_default_row_format is compact": {file(like)},
		"is the server of the table":           {file(here)},
		"--keep excludes":                      {file(like), "--keep=id > 1"},
		"--calibrate excludes":                 {file(like), "--calibrate"},
		"--rehearse excludes":                  {file(like), "--rehearse"},
	} {
		code, stderr := planned(args...)
		if code != exit.Refused {
			t.Errorf("%s: exit code %d\n%s", want, code, stderr)
		}
		contains(t, stderr, want)
	}
	for _, args := range [][]string{
		{"plan", "DROP TABLE " + name}, {"plan", "--to=x.sql"},
		{"plan", "--together", "ALTER TABLE " + name + " ADD c INT", "ALTER TABLE " + name + "2 ADD c INT"},
	} {
		code, _, stderr := midstream(t, append(append(args, file(like)), flagsTo(t, here)...)...)
		if code != exit.WrongUsage {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stderr, "--scratch-defaults-file")
	}
	executing(t, like, "")("SET GLOBAL innodb_default_row_format = 'DYNAMIC'", "CREATE USER nobody IDENTIFIED BY 'Nobody-1'")
	code, stderr := planned("--scratch-defaults-file=" + scratchFile(t, like, "nobody", "Nobody-1"))
	if code != exit.Refused {
		t.Errorf("without privileges: exit code %d\n%s", code, stderr)
	}
	contains(t, stderr, "does not make the table", "Give its account ALL on `midstream\\_scratch\\_%`.*")
	if code, stderr = planned("--scratch-defaults-file=/nowhere.cnf"); code != exit.WrongUsage {
		t.Errorf("no option file: exit code %d\n%s", code, stderr)
	}
	contains(t, stderr, "--scratch-defaults-file: ", "did not connect")
	down := &mysqltest.Instance{Network: "tcp", Address: "127.0.0.1:1"}
	for file, next := range map[string]string{
		scratchFile(t, like, "nobody", "wrong"): "check the account and its password in the file of --scratch-defaults-file",
		scratchFile(t, down, "nobody", "x"):     "start the scratch server, or correct the address in the file of --scratch-defaults-file",
	} {
		code, stderr = planned("--scratch-defaults-file=" + file)
		if code != exit.Failed { // as for the server of the table
			t.Errorf("%s: exit code %d\n%s", file, code, stderr)
		}
		contains(t, stderr, "the scratch server: connect to ", "nothing was changed, on either server", next)
	}
	if code, stderr = planned(file(like)); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	code, _, stderr = midstream(t, append([]string{"run", "ALTER TABLE " + name + " ADD COLUMN c INT", file(like)}, flagsTo(t, here)...)...)
	if code != exit.WrongUsage {
		t.Errorf("run: exit code %d\n%s", code, stderr)
	}
}

// midPlan begins a plan, and stops its process while its schema exists on the scratch server. It returns the name of the schema.
func midPlan(t *testing.T, there *mysqltest.Instance, args ...string) (r *running, name string) {
	t.Helper()
	db := there.Open(t, "")
	const named = "SELECT COALESCE(MAX(schema_name), '') FROM information_schema.schemata WHERE LEFT(schema_name, 18) = 'midstream_scratch_'" +
		" AND schema_name <> "
	before := mysqltest.Text(db, named+"''")
	for range 20 {
		r = start(t, command(t, args...))
		for end := time.Now().Add(time.Minute); name == "" && time.Now().Before(end) && r.cmd.Process.Signal(syscall.Signal(0)) == nil; {
			name = mysqltest.Text(db, named+"'"+before+"'")
		}
		_ = r.cmd.Process.Signal(syscall.SIGSTOP) // if it has not ended
		if name = mysqltest.Text(db, named+"'"+before+"'"); name != "" {
			return r, name
		}
		_ = r.cmd.Process.Signal(syscall.SIGCONT) // it was too late
		r.exit()
	}
	t.Fatal("no plan was seen with its schema")
	return nil, ""
}

func sendSignal(t *testing.T, r *running, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// TestL8_TheNextPlanRemovesTheSchemaOfAKilledOne: kill -9 leaves the schema of a plan on the scratch server, and the next plan there
// removes it. It leaves alone the schema of a plan at work, and a schema of another that has such a name.
func TestL8_TheNextPlanRemovesTheSchemaOfAKilledOne(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "mariadb-11.8", "8.0", "5.7", "mariadb-10.11") {
		t.Run(version, func(t *testing.T) {
			here, there := mysqltest.Server(t, version), mysqltest.Own(t, version, sandbox.Options{})
			name, _ := table(t, here, 10)
			const foreign = "midstream_scratch_aaaaaaaaaaaaaaaaaaaaaaaaaa"
			executing(t, there, "")("CREATE USER ours IDENTIFIED BY 'Scratch-1'", "GRANT ALL ON `midstream\\_scratch\\_%`.* TO ours",
				"GRANT PROCESS ON *.* TO ours", "CREATE DATABASE "+foreign, "CREATE TABLE "+foreign+".t (id INT PRIMARY KEY)")
			db := there.Open(t, "")
			schemas := func() string {
				return mysqltest.Text(db, "SELECT GROUP_CONCAT(schema_name ORDER BY 1) FROM information_schema.schemata"+
					" WHERE schema_name LIKE 'midstream%'")
			}
			args := append([]string{"plan", "--scratch-defaults-file=" + scratchFile(t, there, "ours", "Scratch-1"),
				"ALTER TABLE " + name + " ADD COLUMN c INT, ADD INDEX i (b)"}, flagsTo(t, here)...)
			first, left := midPlan(t, there, args...)
			code, stdout, stderr := midstream(t, args...)
			if code != exit.Done || !strings.Contains(schemas(), left) || strings.Contains(stdout+stderr, left) {
				t.Errorf("next to a plan at work: exit code %d, %s\n%s%s", code, schemas(), stdout, stderr)
			}
			sendSignal(t, first, syscall.SIGKILL)
			first.exit()
			for end := time.Now().Add(time.Minute); mysqltest.Text(db, "SELECT IS_FREE_LOCK('"+left+"')") != "1" && time.Now().Before(end); {
			}
			if !strings.Contains(schemas(), left) {
				t.Fatalf("nothing was left: %s", schemas())
			}
			code, stdout, stderr = midstream(t, args...)
			if got := schemas(); code != exit.Done || got != foreign {
				t.Errorf("after a kill: exit code %d, %s\n%s%s", code, got, stdout, stderr)
			}
			contains(t, stdout+stderr, "dropped "+left+" on the scratch server: a plan that was killed had left it")
			for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				r, _ := midPlan(t, there, args...)
				sendSignal(t, r, s)
				sendSignal(t, r, syscall.SIGCONT)
				if code := r.exit(); code != exit.Aborted || schemas() != foreign {
					t.Errorf("%s: exit code %d, %s\n%s%s", s, code, schemas(), &r.stdout, &r.stderr)
				}
			}
		})
	}
}

// TestAPlanNamesAnotherBuildOfTheScratchServer: the numbers of the version are equal, and the server is of another vendor.
func TestAPlanNamesAnotherBuildOfTheScratchServer(t *testing.T) {
	here := mysqltest.Server(t, "mariadb-11.8")
	name, query := table(t, here, 10)
	number, _, _ := strings.Cut(query("SELECT VERSION()"), "-")
	other := mysqltest.Own(t, "mariadb-11.8", sandbox.Options{Settings: map[string]string{"version": number + "-acme-MariaDB"}})
	code, stdout, stderr := midstream(t, append([]string{"plan", "--scratch-defaults-file=" + scratchFile(t, other, other.User, other.Password),
		"ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, here)...)...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, "the scratch server is "+number+"-acme-MariaDB, ", "and the server of the table is "+number)
}
