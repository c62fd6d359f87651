package prescan_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/engine/failure"
)

// TestInvalidBytesAreFound: a column holds bytes that are no characters of its charset; a
// tablespace from another server may bring them. An ALTER that copies the bytes accepts them. An
// ALTER that must convert them doesn't.
func TestInvalidBytesAreFound(t *testing.T) {
	onEach(t, func(b *bench) {
		if b.server.Sandbox == nil {
			b.Skip("needs the server's files")
		}
		b.exec(
			"CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4)",
			"ALTER TABLE t DISCARD TABLESPACE", "CREATE TABLE raw (id INT PRIMARY KEY, v VARBINARY(80))",
			"INSERT INTO raw VALUES (1, 'ok'), (2, 0xFF61), (3, 0x61C3), (4, 'ä'), (5, NULL)",
		)
		b.transplant("raw", "t")
		b.exec("DROP TABLE raw")
		if got := strings.Join(b.texts("SELECT HEX(v) FROM t ORDER BY id"), " "); got != "6F6B FF61 61C3 C3A4 " {
			b.Fatalf("the table has %q", got)
		}
		for _, alter := range []string{"MODIFY v VARCHAR(20) CHARACTER SET utf8mb3", "MODIFY v VARCHAR(20) CHARACTER SET latin1"} {
			told, err := b.check(alter)
			f, ok := told.find("characters")
			if !errors.Is(err, failure.ErrUnfit) || !ok {
				b.Fatalf("%s: error is %v, findings %+v", alter, err, told.findings)
			}
			b.want(f, []int{2, 3})
			if _, err := b.runBlindly(alter); err == nil {
				b.Errorf("%s: a run takes them", alter)
			}
		}
		for _, alter := range []string{"ADD c INT, MODIFY v VARCHAR(40) CHARACTER SET utf8mb4", "MODIFY v TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"} {
			if told, err := b.check(alter); err != nil {
				b.Errorf("%s: the bytes that stay are refused: %v, %+v", alter, err, told.findings)
			}
		}
	})
}

// runBlindly is run without a prescan.
func (b *bench) runBlindly(clauses string) (*told, error) {
	b.Helper()
	cfg := b.cfg
	defer func() { b.cfg = cfg }()
	b.cfg.NoPrescan = true
	return b.run(clauses)
}

// transplant gives a table the rows of another one, whose types are not checked.
func (b *bench) transplant(from, to string) {
	b.Helper()
	conn, err := b.db.Conn(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	exec := func(statement string) {
		b.Helper()
		if _, err := conn.ExecContext(b.ctx(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	folder := filepath.Join(b.texts("SELECT @@datadir")[0], b.schema)
	exec(fmt.Sprintf("FLUSH TABLES %s.%s FOR EXPORT", b.schema, from))
	data, err := os.ReadFile(filepath.Join(folder, from+".ibd"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, to+".ibd"), data, 0o640)
	}
	if err != nil {
		b.Fatal(err)
	}
	exec("UNLOCK TABLES")
	exec(fmt.Sprintf("ALTER TABLE %s.%s IMPORT TABLESPACE", b.schema, to))
}
