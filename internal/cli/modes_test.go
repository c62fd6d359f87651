package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// TestAsTheServer: a statement means what it would mean to a session of the server's, by either method, and
// a table with dates that the sql_mode doesn't take is changed all the same.
func TestAsTheServer(t *testing.T) {
	mysqltest.Seldom(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	exec("SET sql_mode = ''", "ALTER TABLE t ADD COLUMN z DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00'")
	usual := query("SELECT @@GLOBAL.sql_mode")
	exec("SET GLOBAL sql_mode = '" + usual + ",REAL_AS_FLOAT,PIPES_AS_CONCAT'")
	t.Cleanup(func() { i.Open(t, database).Exec("SET GLOBAL sql_mode = '" + usual + "'") })
	for column, method := range map[string]string{"m": "instant", "n": "shadow"} {
		code, stdout, stderr := midstream(t, append(flagsTo(t, i), "run", "--drop-old", "--method="+method,
			"ALTER TABLE "+name+" ADD COLUMN "+column+" REAL, ADD COLUMN "+column+"v VARCHAR(20) AS (a || 'x') VIRTUAL")...)
		if code != exit.Done {
			t.Fatalf("%s: exit code %d\n%s\n%s", method, code, stdout, stderr)
		}
		is := "SELECT column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = '" + column + "'"
		if got := query(is); got != "float" {
			t.Errorf("%s: a REAL is a %s", method, got)
		}
		if got := query("SELECT " + column + "v FROM t WHERE id = 1"); got != "1x" {
			t.Errorf("%s: a || 'x' is %s", method, got)
		}
	}
	if got := query("SELECT COUNT(*) FROM t WHERE z = 0"); got != "100" {
		t.Errorf("%s rows have their date", got)
	}
	code, stdout, stderr := midstream(t, append(flagsTo(t, i), "plan", "--calibrate", "ALTER TABLE "+name+" FORCE")...)
	if code != exit.Done {
		t.Errorf("calibration: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = midstream(t, append(flagsTo(t, i), "run", "ALTER TABLE "+name+" ADD COLUMN d DATE NOT NULL")...)
	if code != exit.Refused {
		t.Errorf("a date without a value: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, "adds column d DATE NOT NULL without a default", "NO_ZERO_DATE", "Give it a DEFAULT")
}

// TestBackupIsNamed: where LOCK INSTANCE FOR BACKUP lets nobody create a table, plan says who holds it.
func TestBackupIsNamed(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	backup, err := i.Open(t, database).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	if _, err := backup.ExecContext(t.Context(), "LOCK INSTANCE FOR BACKUP"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := midstream(t, append(flagsTo(t, i), "plan", "ALTER TABLE "+name+" ADD COLUMN c INT")...)
	if _, err := backup.ExecContext(t.Context(), "UNLOCK INSTANCE"); err != nil {
		t.Fatal(err)
	}
	if code == exit.Done {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	contains(t, stderr, "blocked by connection ", "holds the lock of LOCK INSTANCE FOR BACKUP", "nothing was written")
	if got := query(allTables); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestForeignKeysOfItsOwn: the server changes a table with foreign keys where it does not build it anew;
// what it refuses for their sake is not done.
func TestForeignKeysOfItsOwn(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		i := mysqltest.Server(t, version)
		name, query := table(t, i, 10)
		database, _, _ := strings.Cut(name, ".")
		exec := executing(t, i, database)
		exec("CREATE TABLE c (id INT PRIMARY KEY, pid INT, y INT, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES t (id))")
		for clauses, want := range map[string]string{"RENAME COLUMN y TO z": "", "ALTER COLUMN pid SET DEFAULT 4": "", "DROP INDEX fk": "Cannot drop index 'fk'"} {
			code, stdout, stderr := midstream(t, append(flagsTo(t, i), "run", "ALTER TABLE "+database+".c "+clauses)...)
			if code == exit.Done != (want == "") {
				t.Errorf("%s, %s: exit code %d\n%s\n%s", version, clauses, code, stdout, stderr)
			}
			if want != "" {
				contains(t, stderr, "the server refuses the statement because of a foreign key", want, "nothing was written")
			}
		}
		if got := query(
			"SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'c'",
		); got != "id,pid,z" {
			t.Errorf("%s: the columns are %s", version, got)
		}
	}
}

// TestChecksForgotten: before 8.0.16 the server takes a CHECK and forgets it, and plan says so.
func TestChecksForgotten(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "8.0")
	name, _ := table(t, i, 10)
	code, stdout, stderr := midstream(t, append(flagsTo(t, i), "plan", "ALTER TABLE "+name+" ADD CHECK (a > 0)")...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "Nothing to do: ", "the ALTER has a CHECK constraint", "ignores it")
}

// TestL3_ParentsOfANewTable: while --to creates a table that refers to one which a transaction holds, nobody
// waits behind it for longer than the budget, and it is created in the end.
func TestL3_ParentsOfANewTable(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	holder, err := i.Open(t, database).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec("SELECT COUNT(*) FROM t"); err != nil {
		t.Fatal(err)
	}
	const held = 3 * time.Second
	time.AfterFunc(held, func() { holder.Rollback() })
	longest := make(chan time.Duration, 1)
	over := make(chan struct{})
	go func() {
		most := time.Duration(0)
		defer func() { longest <- most }()
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			query("SELECT a FROM t WHERE id = 1")
			most = max(most, time.Since(began))
		}
	}()
	to := "--to=" + files(
		t,
		map[string]string{"c.sql": "CREATE TABLE c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES t (id))"},
	)
	began := time.Now()
	code, stdout, stderr := midstream(t, append(flagsTo(t, i), "run", "--json", "--database="+database, to)...)
	took := time.Since(began)
	close(over)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	var blocked bool
	for line := range strings.Lines(stdout) {
		var h record.Head
		if json.Unmarshal([]byte(line), &h) == nil && h.Event == "blocked" {
			blocked = true
		}
	}
	if !blocked || took < held-time.Second {
		t.Errorf("nobody is told to be in its way, and it took %s\n%s", took, stdout)
	}
	if most := <-longest; most > time.Second {
		t.Errorf("a query waited for %s", most)
	}
	if got := query(allTables); got != "c,t" {
		t.Errorf("the tables are %s", got)
	}
}
