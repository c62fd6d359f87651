package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// oddTables are definitions for every server.
var oddTables = []string{
	"CREATE TABLE plain (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT=17 COMMENT=') AUTO_INCREMENT=5 it''s \\\\ \\n \"x\" `y`'",
	"CREATE TABLE `a/b` (`col``umn` INT NOT NULL, `%s` VARCHAR(20) DEFAULT 'it''s \\\\' COMMENT 'quote '' and ; and -- and /* x */', PRIMARY KEY (`col``umn`))",
	"CREATE TABLE `a.b` (id BIGINT UNSIGNED PRIMARY KEY, e ENUM('a','b''c','\\\\'), s SET('x','y') NOT NULL DEFAULT 'x,y') CHARSET=latin1",
	"CREATE TABLE `größe` (id INT PRIMARY KEY, g INT AS (id * 2) VIRTUAL, h VARCHAR(30) AS (CONCAT('it''s ', id)) STORED, KEY (h))",
	"CREATE TABLE parts (id INT NOT NULL, d DATE NOT NULL, PRIMARY KEY (id, d)) PARTITION BY RANGE (TO_DAYS(d))" +
		" (PARTITION p0 VALUES LESS THAN (738000) COMMENT='AUTO_INCREMENT=3', PARTITION p1 VALUES LESS THAN MAXVALUE)",
	"CREATE TABLE hashed (id INT PRIMARY KEY) PARTITION BY KEY (id) PARTITIONS 3",
	"CREATE TABLE times (id INT PRIMARY KEY, a TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)," +
		" b TIMESTAMP NULL DEFAULT '2020-01-01 12:00:00', c DATETIME DEFAULT '1999-12-31 23:59:59', y YEAR, z BIT(3) DEFAULT b'101')",
	"CREATE TABLE kinds (id DECIMAL(20,5) PRIMARY KEY, j JSON, t TEXT, b BINARY(3) DEFAULT 'ab', l LONGBLOB, p POINT NOT NULL, SPATIAL KEY (p)," +
		" FULLTEXT KEY (t), KEY pre (t(10))) ROW_FORMAT=DYNAMIC",
	"CREATE TABLE child (id INT PRIMARY KEY, a INT, CONSTRAINT `fk a` FOREIGN KEY (a) REFERENCES plain (id) ON DELETE SET NULL)",
	"CREATE TABLE UPPER_case (id INT PRIMARY KEY, `Select` INT) COLLATE=utf8mb4_bin",
	"CREATE TABLE upper_CASE (id INT PRIMARY KEY, k INT) ENGINE=MyISAM",
	"CREATE TABLE nokey (a INT, b FLOAT(7,3), c TINYINT(1))",
}

// oddModern are definitions for servers of one family.
var oddModern = map[string][]string{
	"9.7": {
		"CREATE TABLE checked (id INT PRIMARY KEY, a INT CHECK (a > 0), b INT, CONSTRAINT `b is` CHECK (b <> 5) NOT ENFORCED, v VARCHAR(9) DEFAULT (CONCAT('it''s', 1)), i INT INVISIBLE)",
		"CREATE TABLE func (id INT PRIMARY KEY, a VARCHAR(9), KEY f ((LOWER(a))), KEY d (a DESC), KEY inv (a, id) INVISIBLE)",
		"CREATE TABLE bytes (id INT PRIMARY KEY, b BINARY(2) DEFAULT 0xFF00)",
	},
	"mariadb-10.11": {
		"CREATE TABLE checked (id INT PRIMARY KEY, a INT CHECK (a > 0), b INT, CONSTRAINT `b is` CHECK (b <> 5), u UUID DEFAULT UUID(), i INET6, v INT INVISIBLE)",
	},
}

// TestADumpIsEqualToItsServer: plan --to finds no difference between a dump and the server, whatever the tables are named and have.
func TestADumpIsEqualToItsServer(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "5.7", "mariadb-10.11") {
		t.Run(version, func(t *testing.T) {
			i := mysqltest.Server(t, version)
			db, database := mysqltest.Database(t, i)
			statements := append(slices.Clone(oddTables), oddModern[version]...)
			for _, s := range append(slices.Clone(statements), "CREATE VIEW v AS SELECT 1", "CREATE VIEW w AS SELECT 2") {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
			folder := filepath.Join(t.TempDir(), "deep", "schema")
			args := func(verb string, more ...string) []string {
				return append(append([]string{verb, "--database=" + database}, flagsTo(t, i)...), more...)
			}
			code, stdout, stderr := midstream(t, args("dump", "--out="+folder)...)
			if code != exit.Done || !strings.Contains(stdout, "Done: wrote ") || !strings.Contains(stdout, "Left out: 2 views.") {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			names, err := filepath.Glob(folder + "/*.sql")
			if err != nil || len(names) != len(statements) || !slices.Contains(names, folder+"/a%2Fb.sql") {
				t.Errorf("%q, %v", names, err)
			}
			if text, err := os.ReadFile(folder + "/plain.sql"); err != nil || strings.Contains(string(text), "AUTO_INCREMENT=17") {
				t.Errorf("%s, %v", text, err)
			}
			code, stdout, stderr = midstream(t, args("plan", "--to="+folder, "--exit-code")...)
			if code != exit.Done {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			if code, stdout, stderr = midstream(t, args("dump", "--out="+folder)...); code != exit.Done || !strings.Contains(stdout, "wrote 0 files") {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
}

// TestADumpReplacesOnlyItsOwnFiles: a file that a person has written or changed stays, without --force.
func TestADumpReplacesOnlyItsOwnFiles(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	db, database := mysqltest.Database(t, i)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dump := func(want int, says string, more ...string) {
		t.Helper()
		args := append(append([]string{"dump", "--database=" + database, "--out=" + folder}, flagsTo(t, i)...), more...)
		if code, stdout, stderr := midstream(t, args...); code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("exit code %d, not %d (%s)\n%s\n%s", code, want, says, stdout, stderr)
		}
	}
	exec("CREATE TABLE t (id INT PRIMARY KEY)")
	exec("CREATE TABLE u (id INT PRIMARY KEY)")
	write("t.sql", "CREATE TABLE t (id INT PRIMARY KEY, mine INT);\n")
	dump(exit.Refused, "t.sql was changed since the last dump")
	if _, err := os.Stat(filepath.Join(folder, "u.sql")); err == nil {
		t.Error("a refused dump wrote a file")
	}
	dump(exit.Done, "wrote 2 files", "--force")
	exec("ALTER TABLE t ADD COLUMN n INT")
	dump(exit.Done, "wrote 1 file ") // its own
	write("all.sql", "CREATE TABLE u (id INT PRIMARY KEY);\n")
	dump(exit.Refused, "is defined at "+folder)
	if err := os.Remove(filepath.Join(folder, "all.sql")); err != nil {
		t.Fatal(err)
	}
	exec("DROP TABLE u")
	dump(exit.Done, "u.sql is of an earlier dump")
	dump(exit.Done, "u.sql is of an earlier dump")
	if _, err := os.Stat(filepath.Join(folder, "u.sql")); err != nil {
		t.Error(err)
	}
	dump(exit.Done, `"removed":["u.sql"]`, "--prune", "--json")
	if _, err := os.Stat(filepath.Join(folder, "u.sql")); err == nil {
		t.Error("--prune has left a file")
	}
	dump(exit.WrongUsage, "dump takes no arguments", "t")
	left, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil || len(left) != 1 {
		t.Errorf("%q, %v", left, err)
	}
	missing := append([]string{"dump", "--database=no_such_database", "--out=" + folder}, flagsTo(t, i)...)
	if code, _, stderr := midstream(t, missing...); code != exit.Failed || !strings.Contains(stderr, "does not exist, or this account") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
