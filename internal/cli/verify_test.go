package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestVerifyComparesTables: equal tables, and every way in which a row may differ.
func TestVerifyComparesTables(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 1000)
	database := name[:len(name)-2]
	exec := executing(t, i, database)
	exec("CREATE TABLE v (id INT PRIMARY KEY, f FLOAT, bin VARBINARY(9), s VARCHAR(9) CHARACTER SET latin1, at DATETIME(3), bits BIT(3))"+
		" SELECT ROW_NUMBER() OVER (ORDER BY id) AS id, 0.1 AS f, x'00ff' AS bin, 'ä' AS s, '2026-01-01 00:00:00.125' AS at, 5 AS bits FROM t",
		"CREATE TABLE u LIKE v", "INSERT INTO u SELECT * FROM v", "ALTER TABLE u ADD more INT, MODIFY s VARCHAR(90) CHARACTER SET utf8mb4")
	verify := func(args ...string) (int, string, string) {
		return midstream(t, append(append([]string{"verify", "--settle=200ms", "-D", database}, args...), flagsTo(t, i)...)...)
	}
	code, stdout, stderr := verify("v", "u")
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "Equal in 6 columns; 1 other was not compared.", "u.more, which only one table has", "Compared 1,000 rows")

	for fault, wants := range map[string][]string{
		"UPDATE u SET s = 'a' WHERE id = 500":          {"column s", "ä | a", "1 row differs"},
		"UPDATE u SET f = 0.2 WHERE id = 501":          {"column f"},
		"UPDATE u SET bin = NULL WHERE id = 502":       {"column bin", "0x00FF | NULL"},
		"UPDATE u SET bits = 4 WHERE id = 503":         {"column bits"},
		"DELETE FROM u WHERE id = 504":                 {"row exists | no such row"},
		"UPDATE u SET id = 5000 WHERE s = 'ä' LIMIT 1": {"no such row | row exists", "2 rows differ"},
	} {
		exec(fault)
		code, stdout, stderr := verify("v", "u")
		if code != exit.Mismatch {
			t.Errorf("%s: exit code %d\n%s\n%s", fault, code, stdout, stderr)
		}
		contains(t, stdout+stderr, wants...)
		exec("DELETE FROM u", "INSERT INTO u SELECT *, NULL FROM v")
	}
	exec("CREATE TABLE bare (a INT)")
	if code, stdout, stderr := verify("v", "bare"); code != exit.Refused {
		t.Errorf("without a key: exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestVerifyComparesServers: the copies of a table on two servers, of which one follows the
// other, and whose account stands in an option file.
func TestVerifyComparesServers(t *testing.T) {
	sideBySide(t)
	i, other := mysqltest.Server(t, "9.7"), mysqltest.Server(t, "8.0")
	name, _ := table(t, i, 3000)
	copied, query := table(t, other, 3000)
	host, port, _ := strings.Cut(other.Address, ":")
	file := filepath.Join(t.TempDir(), "other.cnf")
	text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", host, port, other.User, other.Password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"verify", "--settle=2s", "--other-defaults-file=" + file, name, copied}, flagsTo(t, i)...)
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "Compared 3,000 rows", "Equal.")

	// A change arrives late, as on a replica; another never does.
	db := other.Open(t, copied[:len(copied)-2])
	was := query("SELECT a FROM t WHERE id = 77")
	if _, err := db.ExecContext(t.Context(), "UPDATE t SET a = -1 WHERE id IN (77, 78)"); err != nil {
		t.Fatal(err)
	}
	var late sync.WaitGroup
	late.Go(func() {
		time.Sleep(700 * time.Millisecond)
		if _, err := db.ExecContext(t.Context(), "UPDATE t SET a = "+was+" WHERE id = 77"); err != nil {
			t.Error(err)
		}
	})
	code, stdout, stderr = midstream(t, args...)
	late.Wait()
	if code != exit.Mismatch {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout+stderr, "row id=78, column a:", "1 row differs")
}
