package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/record"
)

// holding opens a transaction that has read the table and changed some rows of another, by a program of
// that name, and returns its connection.
func holding(t *testing.T, i *mysqltest.Instance, program, name string, changed int) (id uint64, end func()) {
	t.Helper()
	pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: i.Network, Address: i.Address, User: i.User,
		Password: dbconn.Secret(i.Password), Program: program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := pool.Session(t.Context(), "BEGIN", "SELECT COUNT(*) FROM "+name+" LIMIT 0")
	if err == nil && changed > 0 {
		_, err = session.Exec(t.Context(), fmt.Sprintf("UPDATE %s_other SET a = a + 1 LIMIT %d", name, changed))
	}
	if err != nil {
		t.Fatal(err)
	}
	return session.ID(), func() { session.Close(); pool.Close() }
}

// TestBlockers: who holds a lock and who waits for it is listed, and nothing is done about it.
func TestBlockers(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		i := mysqltest.Server(t, version)
		name, _ := table(t, i, 10)
		database, _, _ := strings.Cut(name, ".")
		exec := executing(t, i, database)
		exec("CREATE TABLE t_other LIKE t", "INSERT INTO t_other SELECT * FROM t")
		code, stdout, stderr := midstream(t, append(flagsTo(t, i), "blockers", name)...)
		if code != exit.Done || !strings.HasPrefix(stdout, "No session holds a lock of "+name+". A run may wait for an old snapshot") {
			t.Errorf("%s: exit code %d\n%s\n%s", version, code, stdout, stderr)
		}
		id, end := holding(t, i, "report", name, 7)
		altered := make(chan error, 1)
		go func() {
			_, err := i.Open(t, database).ExecContext(context.Background(), "ALTER TABLE t COMMENT = 'by hand'")
			altered <- err
		}()
		var seen record.Lockers
		for range 100 {
			_, stdout, _ = midstream(t, append(flagsTo(t, i), "blockers", "--json", name)...)
			if err := json.Unmarshal([]byte(stdout), &seen); err != nil {
				t.Fatal(err)
			}
			if len(seen.Waiting) > 0 {
				break
			}
		}
		code, stdout, _ = midstream(t, append(flagsTo(t, i), "blockers", name)...)
		end()
		if err := <-altered; err != nil {
			t.Error(err)
		}
		contains(
			t, stdout, fmt.Sprintf("Holding a lock of %s:\n  connection %d, ", name, id), "SHARED_READ",
			"7 rows changed", "Waiting:", "ALTER TABLE t COMMENT",
		)
		if code != exit.Done || len(seen.Holding) != 1 || len(seen.Waiting) != 1 {
			t.Fatalf("%s: exit code %d, %+v", version, code, seen)
		}
		h, w := seen.Holding[0], seen.Waiting[0]
		if h.ConnectionID != id || h.Program != "report" || h.Changed == nil || *h.Changed != 7 || h.Lock != "SHARED_READ" ||
			h.Command != "Sleep" ||
			h.AgeMS <= 0 {
			t.Errorf("%s: %+v", version, h)
		}
		if w.Lock != "EXCLUSIVE" || !strings.Contains(w.Why, "waits") {
			t.Errorf("%s: %+v", version, w)
		}
		exec("DROP TABLE t_other")
	}
	i := mysqltest.Server(t, "9.7")
	code, _, stderr := midstream(t, append(flagsTo(t, i), "blockers", "nowhere.t")...)
	if code == exit.Done {
		t.Error("a table that is not there")
	}
	contains(t, stderr, "nowhere.t: no such database, or no privilege on it", "check the table's name")
}

// TestKills: a session that is in the way for too long is ended, but for backups, for users that were not
// named, and for transactions that have changed much.
func TestKills(t *testing.T) {
	mysqltest.Seldom(t)
	i := mysqltest.Server(t, "9.7")
	for _, c := range []struct {
		name    string
		program string
		changed int
		flags   []string
		spared  string // "": it is ended
	}{
		{"swap", "app", 3, []string{"--method=shadow"}, ""},
		{"instant", "app", 3, nil, ""},
		{"backup", "mysqldump", 0, []string{"--method=shadow"}, "it is a backup"},
		{"much", "app", 9, []string{"--kill-rows=5"}, "it has changed 9 rows"},
		{"user", "app", 0, []string{"--kill-user=report*"}, "its user is not"},
		{"host", "app", 0, []string{"--kill-host=10.*"}, "its host is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, query := table(t, i, 20)
			database, _, _ := strings.Cut(name, ".")
			executing(t, i, database)("CREATE TABLE t_other LIKE t", "INSERT INTO t_other SELECT * FROM t")
			id, end := holding(t, i, c.program, name, c.changed)
			args := append(flagsTo(t, i), "run", "--drop-old", "--kill-blockers-after=600ms", "ALTER TABLE "+name+" ADD COLUMN c INT")
			r := start(t, command(t, append(args, c.flags...)...))
			if c.spared != "" {
				r.await(&r.stdout, fmt.Sprintf("connection %d of %s@", id, i.User))
				r.await(&r.stdout, "is not killed: "+c.spared)
				end()
			}
			if code := r.exit(); code != exit.Done {
				t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			if killed := strings.Contains(r.stdout.String(), "killed a session that blocked the swap for "); killed != (c.spared == "") {
				t.Errorf("ended: %t\n%s", killed, &r.stdout)
			}
			if c.spared == "" {
				end()
			}
			if got := query(columns); got != "id,a,b,c" {
				t.Errorf("columns %s", got)
			}
		})
	}
}

// TestKillsNeedAPrivilege: without it the run is refused before anything is done.
func TestKillsNeedAPrivilege(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	exec("DROP USER IF EXISTS killer", "CREATE USER killer IDENTIFIED BY 'secret'", "GRANT ALL ON "+database+".* TO killer",
		"GRANT SELECT ON performance_schema.* TO killer", "GRANT PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO killer")
	defer exec("DROP USER killer")
	args := append(flagsTo(t, i), "plan", "--user=killer", "--password=secret", "ALTER TABLE "+name+" ADD COLUMN c INT")
	code, stdout, stderr := midstream(t, append(args, "--kill-blockers-after=1s")...)
	if code != exit.Refused {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, "CONNECTION_ADMIN", "GRANT CONNECTION_ADMIN ON *.*")
	if code, stdout, stderr = midstream(t, args...); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestHeld: a run waits for its window, or for a file to go, while changes are applied; Ctrl-C ends the
// waiting.
func TestHeld(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, method := range []string{"shadow", "instant"} {
		name, query := table(t, i, 100)
		file := filepath.Join(t.TempDir(), "not-yet")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(flagsTo(t, i), "run", "--drop-old", "--method="+method, "ALTER TABLE "+name+" ADD COLUMN c INT")
		r := start(t, command(t, append(args, "--cutover-when-gone="+file)...))
		r.await(&r.stdout, "on hold: the file "+file+" exists")
		if got := query(columns); got != "id,a,b" {
			t.Errorf("%s: columns %s", method, got)
		}
		database, _, _ := strings.Cut(name, ".")
		executing(t, i, database)("INSERT INTO t (a) VALUES (4711)")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if code := r.exit(); code != exit.Done {
			t.Errorf("%s: exit code %d\n%s\n%s", method, code, &r.stdout, &r.stderr)
		}
		if got := query("SELECT COUNT(*) FROM t WHERE a = 4711"); got != "1" || query(columns) != "id,a,b,c" {
			t.Errorf("%s: %s rows, columns %s", method, got, query(columns))
		}
		now := time.Now().UTC()
		window := fmt.Sprintf("%s-%s UTC", now.Add(2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04"))
		args[len(args)-1] = "ALTER TABLE " + name + " ADD COLUMN d INT"
		r = start(t, command(t, append(args, "--on-signal=remove", "--cutover-window="+window)...))
		r.await(&r.stdout, "on hold: the window "+window+" opens at ")
		r.interrupt()
		if code := r.exit(); code != exit.Aborted || query(columns) != "id,a,b,c" {
			t.Errorf("%s: exit code %d, columns %s\n%s\n%s", method, code, query(columns), &r.stdout, &r.stderr)
		}
		contains(t, r.stderr.String(), "aborted in phase hold", "is untouched and nothing is left")
	}
	code, _, stderr := midstream(t, append(flagsTo(t, i), "run", "--cutover-window=2-4", "ALTER TABLE a.t ADD COLUMN d INT")...)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "--cutover-window 2-4", "must be FROM-TO, such as 02:00-04:00")
}
