package migration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// wanting writes the files of tables t and u with a character set, and of two that do not exist: v, and w, which refers to t by the type
// that its key is to get. It returns the arguments of a run that leads there.
func (b *bench) wanting(charset string, others bool) []string {
	b.Helper()
	folder, id := b.TempDir(), map[string]string{"latin1": "INT", "utf8mb4": "BIGINT"}[charset]
	texts := map[string]string{}
	for _, table := range []string{"t", "u"} {
		texts[table] = fmt.Sprintf("CREATE TABLE %s (id %s NOT NULL PRIMARY KEY, v INT NOT NULL, c VARCHAR(20) CHARACTER SET %s)", table, id, charset)
	}
	if others {
		texts["v"] = "CREATE TABLE v (id INT PRIMARY KEY)"
		texts["w"] = "CREATE TABLE w (id INT PRIMARY KEY, t " + id + ", FOREIGN KEY (t) REFERENCES t (id))"
	}
	for table, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, table+".sql"), []byte(text+";\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return []string{"run", "--together", "--database=" + b.schema, "--to=" + folder}
}

// TestL6_TheChangesOfAFolderAreSwappedInOneStep: files want other definitions of two tables, to which sessions write, and new tables. No
// session sees one table with its old definition and the other with its new one. The run is killed at several points and run again.
func TestL6_TheChangesOfAFolderAreSwappedInOneStep(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes, reads := b.pairing(2, 2500), b.probing(2)
		charset := "latin1"
		for i, at := range []string{"", "CREATE TABLE " + schema.Quote(b.schema) + ".`u_shadow`", "RENAME TABLE", "midstream old of "} {
			before := charset
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			args := b.wanting(charset, i == 0)
			if at != "" {
				if code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.process("", nil, args...) }); code != -1 {
					b.Fatalf("%s: exit code %d: %s", at, code, last)
				}
				if got := b.charsets(); got != before+","+before && got != charset+","+charset {
					b.Fatalf("killed at %s: the tables have %s", at, got)
				}
			}
			run := b.process("", nil, args...)
			run.mustEnd()
			if at == "RENAME TABLE" && run.heard(phaseLine(event.PhasePrescan)) {
				b.Errorf("killed at %s: the run began again", at)
			}
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("the tables have %s", got)
			}
			if i == 0 {
				if got := b.value("SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + b.schema + "'"); got != "t,t_old,u,u_old,v,w" {
					b.Errorf("the tables are %s", got)
				}
				b.exec("DROP TABLE " + b.schema + ".v, " + b.schema + ".w")
			}
			b.exec("DROP TABLE " + b.schema + ".t_old, " + b.schema + ".u_old")
			if _, last := b.process("", nil, args...).wait(); i > 0 && !strings.Contains(last, `"state":"equal"`) {
				b.Errorf("again: %s", last)
			} else if i == 0 {
				b.exec("DROP TABLE IF EXISTS " + b.schema + ".w, " + b.schema + ".v")
			}
		}
		wrote, read := writes(), reads()
		b.Logf("%d transactions, %d reads of both tables", wrote, read)
		b.mustPair()
	})
}

// TestL7_AGroupIsKilledAtRandomMoments: kill -9, again and again. Both tables have the old definition or both the new one, at each moment.
func TestL7_AGroupIsKilledAtRandomMoments(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		random := b.random()
		b.pair(4000)
		writes, reads := b.pairing(2, 4500), b.probing(2)
		charset := "latin1"
		for left := *kills; left > 0; {
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			args := b.together(charset)
			if random.IntN(2) == 0 {
				args = b.wanting(charset, false)
			}
			for done := false; !done; {
				c := b.process("", nil, append(args, "--chunk-time=20ms", "--checkpoint=50ms", "--drop-old")...)
				if left > 0 {
					left--
					time.AfterFunc(time.Duration(random.IntN(3000))*time.Millisecond, c.kill)
				}
				code, last := c.wait()
				if done = code == 0; code > 0 {
					b.Fatalf("exit code %d: %s", code, last)
				}
			}
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("the tables have %s", got)
			}
		}
		b.Logf("%d transactions, %d reads of both tables", writes(), reads())
		b.mustPair()
	})
}

// TestAGroupOfAFolderIsRefused: this server cannot swap several tables in one step. The new tables of the folder are not created either.
func TestAGroupOfAFolderIsRefused(t *testing.T) {
	sideBySide(t)
	onThese(t, mysqltest.InTurn(t, "mariadb-11.8", "5.7", "8.0", "mariadb-10.11"), func(b *bench) {
		for _, table := range []string{"t", "u"} {
			b.exec("CREATE TABLE " + b.schema + "." + table + " (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, c VARCHAR(20) CHARACTER SET latin1)")
		}
		code, last := b.process("", nil, b.wanting("utf8mb4", true)...).wait()
		if code != 11 || !strings.Contains(last, `"code":"together"`) {
			b.Errorf("exit code %d: %s", code, last)
		}
		if got := b.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + b.schema + "'"); got != "2" {
			b.Errorf("%s tables are there", got)
		}
	})
}
