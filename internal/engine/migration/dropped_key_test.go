package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
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

// definitionOf is that of a table, without its name and counter.
func (b *bench) definitionOf(table string) string {
	b.Helper()
	t, err := schema.Load(b.ctx(), b.db, schema.Name{Schema: b.schema, Table: table})
	if err != nil {
		b.Fatal(err)
	}
	text, _ := schema.SplitAutoIncrement(t.Create)
	return strings.Replace(text, "`"+table+"`", "`t`", 1)
}

// dropsInstantly reports whether the server drops a column in an instant.
func (b *bench) dropsInstantly() bool {
	return isMariaDB(b.version) || b.version != "8.0" && b.version != "5.7"
}

// TestL11_ADroppedKeyLeavesNoTrace: a change drops columns of the key that the run follows. The new table has each row once, the definition
// that the server's own ALTER makes, and takes rows without these columns from the swap on. Servers that drop no column in an instant
// refuse it before anything is written.
func TestL11_ADroppedKeyLeavesNoTrace(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, k := range droppedKeys {
			k.create(b)
			if !b.dropsInstantly() {
				var refused *plan.Refused
				if _, err := b.migrate(b.ctx(), k.clauses); !errors.As(err, &refused) || refused.Blocking[0].Code != plan.CodeNoKey ||
					!strings.Contains(refused.Blocking[0].Fix, "in two runs") {
					b.Errorf("%s: the error is %v", k.clauses, err)
				}
				b.exec("DROP TABLE t, native")
				continue
			}
			b.cfg.RowCopy.MaxRows = 50
			stop := k.writers(b)
			b.mustMigrate(k.clauses, onPhase(event.PhaseCutover, stop), onPhase(event.PhaseCleanup, func() {
				kept := b.value("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '" + b.schema +
					"' AND table_name = 't' AND column_name LIKE 'midstream%'")
				if kept != fmt.Sprint(strings.Count(k.clauses, "DROP ")-1) {
					b.Errorf("%s: %s columns of the run after the swap", k.clauses, kept)
				}
				columns, values := "", ""
				if strings.Contains(k.names, "tenant") {
					columns, values = "tenant, ", "1, "
				}
				b.exec("INSERT INTO t ("+columns+"x, note) VALUES ("+values+"-5, 'after')", "DELETE FROM t WHERE x = -5")
			}))
			if got, want := b.definitionOf("t"), b.definitionOf("native"); got != want {
				b.Errorf("the new table is %s\nThe server's ALTER makes %s", got, want)
			}
			columns := "x, note"
			if strings.Contains(k.names, "tenant") {
				columns += ", tenant"
			}
			b.equalRows(columns, "t", "t_old")
			b.exec("DROP TABLE t, t_old, native")
		}
	})
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

// TestL7_TheSecondActIsFinished: a run ends between the swap and the drop of the column that kept the key, or its answer is lost. The same
// command, or cleanup, does the rest.
func TestL7_TheSecondActIsFinished(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	const act = "`t` DROP COLUMN"
	rules := map[string]fault.Rule{
		"killed in the swap":   {After: "LOCK TABLES", At: "RENAME TABLE", Cut: true},
		"the swap is refused":  {After: "LOCK TABLES", At: "RENAME TABLE", Error: 1317},
		"killed before":        {At: act, Cut: true},
		"killed after":         {After: act, At: "`t_old`", Cut: true},
		"killed, then cleanup": {At: act, Cut: true},
		"answer lost":          {At: act, Deaf: true},
		"refused once":         {At: act, Error: 1205},
		"refused":              {At: act, Error: 1846},
	}
	onEach(t, func(b *bench) {
		if !b.dropsInstantly() {
			return
		}
		k := droppedKeys[0]
		for name, rule := range rules {
			b.Log(name)
			k.create(b)
			if rule.Cut {
				b.killedBy(rule, k.clauses)
			} else {
				b.wire(rule)
				c := b.child(k.clauses, "", nil, "--reconnect=0s")
				code, last := c.wait()
				if refused := name == "refused"; refused != (code != 0) || refused && !strings.Contains(last+c.complaint.String(), "midstream_helper_1") {
					b.Errorf("%s: exit code %d: %s %s", name, code, last, &c.complaint)
				}
				b.address = b.server.Address
			}
			if name == "killed, then cleanup" {
				b.nextCleanup()
			} else if strings.HasPrefix(name, "killed") || name == "refused" {
				b.child(k.clauses, "", nil).mustEnd()
			}
			if got, want := b.definitionOf("t"), b.definitionOf("native"); got != want {
				b.Errorf("%s: the new table is %s", name, got)
			}
			old := b.value("SELECT MAX(table_name) FROM information_schema.tables WHERE table_name LIKE 't\\_old%' AND table_schema = '" + b.schema + "'")
			b.equalRows("x, note", "t", old)
			if left := b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "'"); left != "3" {
				b.Errorf("%s: tables are left: %s", name, b.value("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '"+b.schema+"'"))
			}
			b.exec("DROP TABLE IF EXISTS t, native, " + old)
		}
	})
}
