package migration_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// droppedKey is a change that drops columns of the key. key gives the columns of the key a value for a number.
type droppedKey struct{ columns, names, key, clauses string }

const numbered = "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"

var droppedKeys = []droppedKey{
	{"u BINARY(16) NOT NULL", "u", "UNHEX(LEFT(SHA2(%[1]d, 256), 32))", "DROP PRIMARY KEY, DROP COLUMN u, ADD COLUMN id " + numbered + " FIRST"},
	{"u CHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL", "u", "CONCAT('É', LEFT(SHA2(%[1]d, 256), 32))",
		"DROP COLUMN u, DROP PRIMARY KEY, ADD COLUMN id " + numbered + ", ADD KEY (x)"},
	{"tenant INT NOT NULL, u DATETIME(3) NOT NULL", "tenant, u", "%[1]d %% 7, '2024-01-01' + INTERVAL %[1]d SECOND",
		"DROP PRIMARY KEY, DROP COLUMN u, ADD COLUMN id " + numbered + " FIRST, ADD UNIQUE KEY (tenant, id), MODIFY x BIGINT NOT NULL"},
	{"e ENUM('A', 'b', 'Ç') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, u DECIMAL(20,4) NOT NULL", "e, u", "1 + %[1]d %% 3, %[1]d / 8",
		"DROP PRIMARY KEY, DROP e, DROP COLUMN u, ADD COLUMN id " + numbered + " AFTER x"},
	{"u INT NOT NULL", "u", "%[1]d", "DROP PRIMARY KEY, DROP COLUMN u, ADD COLUMN u " + numbered},
}

// create makes table t, which has rows, and its copy native.
func (k droppedKey) create(b *bench) {
	b.Helper()
	b.exec("CREATE TABLE t ("+k.columns+", x INT NOT NULL, note VARCHAR(30) DEFAULT 'é', PRIMARY KEY ("+k.names+"))", "CREATE TABLE native LIKE t",
		"ALTER TABLE native "+k.clauses)
	for from := 0; from < 3000; from += 500 {
		var rows []string
		for n := range 500 {
			rows = append(rows, fmt.Sprintf("("+k.key+", %[1]d)", from+n))
		}
		b.exec("INSERT INTO t (" + k.names + ", x) VALUES " + strings.Join(rows, ", "))
	}
}

// writers change rows and keys until stop.
func (k droppedKey) writers(b *bench) (stop func()) {
	b.Helper()
	end, done := make(chan struct{}), sync.WaitGroup{}
	for n := range 3 {
		conn, random := b.conn(), rand.New(rand.NewPCG(uint64(n), 3))
		row := func() string { return "(" + k.names + ") = (" + fmt.Sprintf(k.key, random.IntN(6000)) + ")" }
		done.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				query := []string{
					fmt.Sprintf("INSERT IGNORE INTO t ("+k.names+", x) VALUES ("+k.key+", %[1]d)", random.IntN(6000)),
					"UPDATE t SET x = x + 1 WHERE " + row(),
					"DELETE FROM t WHERE " + row(),
					"UPDATE IGNORE t SET " + k.assign(random.IntN(6000)) + " WHERE " + row(),
				}[random.IntN(4)]
				if _, err := conn.ExecContext(b.ctx(), query); err != nil && !dbconn.Contended(err) {
					b.Errorf("%s: %v", query, err)
					return
				}
				rest(0)
			}
		})
	}
	return sync.OnceFunc(func() { close(end); done.Wait() })
}

// assign gives the key another value.
func (k droppedKey) assign(n int) string {
	_, last, two := strings.Cut(k.key, "%% 7, ")
	if !two {
		if _, last, two = strings.Cut(k.key, "%% 3, "); !two {
			last = k.key
		}
	}
	return fmt.Sprintf("u = "+last, n)
}

// TestL2_AKeyWithoutAUniqueKeyIsCopiedOnce: the ALTER drops the unique key, and the client can't order the keys. No chunk inserts a row
// that a list of keys has inserted.
func TestL2_AKeyWithoutAUniqueKeyIsCopiedOnce(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, clauses := range []string{"DROP PRIMARY KEY, ADD COLUMN n INT", "DROP PRIMARY KEY, ADD KEY (u, x)"} {
			k := droppedKeys[1]
			k.clauses = clauses
			k.create(b)
			b.cfg.RowCopy.MaxRows = 50
			stop := k.writers(b)
			result := b.mustMigrate(clauses, onPhase(event.PhaseCutover, stop))
			if result.Repaired > 0 {
				b.Errorf("%d rows differed", result.Repaired)
			}
			b.equalRows("u, x, note", "t", "t_old")
			b.exec("DROP TABLE t, t_old, native")
		}
	})
}
