package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestL5_APasswordThatExpires: each new connection asks the command for the password, the binlog's among them. The password changes
// twice during a run whose connections are killed; the run goes on. Without the right password the run keeps its work.
func TestL5_APasswordThatExpires(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 30_000)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	account := "'tok_" + database[len(database)-8:] + "'@'%'"
	user := strings.Trim(strings.Split(account, "@")[0], "'")
	exec("CREATE USER "+account+" IDENTIFIED BY 'first'", "GRANT ALL ON *.* TO "+account)
	defer exec("DROP USER " + account)
	folder := t.TempDir()
	token, asked := filepath.Join(folder, "token"), filepath.Join(folder, "asked")
	rotate := func(password string) {
		t.Helper()
		exec("ALTER USER " + account + " IDENTIFIED BY '" + password + "'")
		if err := os.WriteFile(token, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rotate("first")
	flags := slices.DeleteFunc(flagsTo(t, i), func(flag string) bool {
		return strings.HasPrefix(flag, "--user") || strings.HasPrefix(flag, "--password")
	})
	args := append(flags, "--user="+user, fmt.Sprintf("--password-command=echo x >> '%s'; cat '%s'", asked, token))
	args = append(args, "run", "--method=shadow", "--json", "--workers=1", "--chunk-time=10ms", "--copy-share=15%", "--drop-old",
		"ALTER TABLE "+name+" ADD COLUMN c INT")
	r := start(t, command(t, args...))
	copied := rowsOnceCopying(t, r, 0)
	for _, password := range []string{"second", "third"} {
		rotate(password)
		killAll(t, i, user)
		copied = rowsOnceCopying(t, r, copied)
		exec("UPDATE t SET a = a + 1 WHERE id % 500 = 1")
	}
	if code := r.exit(); code != exit.Done || query(columns) != "id,a,b,c" {
		t.Errorf("exit code %d, columns %s\n%s\n%s", code, query(columns), &r.stdout, &r.stderr)
	}
	if calls, _ := os.ReadFile(asked); len(calls) < 10 {
		t.Errorf("it was asked %d times", len(calls)/2)
	}
	broken := append(slices.Clone(flags), "--user="+user, "--password-command=echo 'no token today' >&2; exit 3", "plan", "ALTER TABLE "+name+" ADD d INT")
	code, _, stderr := midstream(t, broken...)
	if code != exit.Failed {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "password-command: exit status 3: no token today", "left:  nothing was changed", "next:  run the command of --password-command by itself")
}

// killAll kills all connections of a user.
func killAll(t *testing.T, i *mysqltest.Instance, user string) {
	t.Helper()
	db := i.Open(t, "")
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		rows, err := db.Query("SELECT processlist_id FROM performance_schema.threads WHERE processlist_user = ?", user)
		if err != nil {
			t.Fatal(err)
		}
		var ids []uint64
		for rows.Next() {
			var id uint64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, _ = db.Exec(fmt.Sprintf("KILL %d", id)) // it may be gone
		}
		if len(ids) > 0 {
			return
		}
	}
	t.Fatal("no connections")
}
