package cli

import (
	"database/sql"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/schema"
)

// TestL11_NoMethodKeepsAnotherColumnsValues: a column takes the name of another one, and a generated
// column is computed from that name. In place, some servers keep its values, stored or in an index. The
// result is that of a copy.
func TestL11_NoMethodKeepsAnotherColumnsValues(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "5.7", "8.0", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			i := mysqltest.Server(t, version)
			for _, alter := range []string{
				"CHANGE b c INT, CHANGE c b INT", "CHANGE a b INT NOT NULL, CHANGE b a INT",
				"DROP COLUMN b, ADD COLUMN b INT DEFAULT 7", "DROP COLUMN b, CHANGE c b INT",
			} {
				if strings.HasPrefix(alter, "DROP") && !strings.HasPrefix(version, "mariadb") {
					continue // 3108: the server refuses it
				}
				for _, kind := range []string{"VIRTUAL", "STORED"} {
					t.Run(kind+" "+alter, func(t *testing.T) { keepsNoOthersValues(t, i, kind, alter) })
				}
			}
		})
	}
}

func keepsNoOthersValues(t *testing.T, i *mysqltest.Instance, kind, alter string) {
	made := func() (*sql.DB, schema.Name) {
		db, database := mysqltest.Database(t, i)
		for _, s := range []string{
			"CREATE TABLE t (a INT NOT NULL PRIMARY KEY, b INT, c INT, v INT AS (b DIV 10) " + kind + ", KEY k (v))",
			"INSERT INTO t (a, b, c) VALUES (20, 100, 5), (70, 200, 6)",
		} {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		return db, schema.Name{Schema: database, Table: "t"}
	}
	_, name := made()
	server, twin := made()
	if _, err := server.Exec("ALTER TABLE t " + alter + ", ALGORITHM=COPY"); err != nil {
		t.Fatal(err)
	}
	tells(t, exit.Done, append(flagsTo(t, i), "run", "--drop-old", "ALTER TABLE "+name.Quoted()+" "+alter)...)
	differences, err := oracle.Differences(t.Context(), i.Open(t, ""), name, twin)
	if err != nil || len(differences) > 0 {
		t.Error(err, strings.Join(differences, "\n"))
	}
}

// TestL11_AnIndexOfComputedValuesStaysWhole: 9.7.4 keeps a virtual column in the wrong place if a statement moves it to the
// front, or renames an index over an expression and adds a column. This ALTER, or the next one in place, damages the
// index. Each method leaves a table that stands it.
func TestL11_AnIndexOfComputedValuesStaysWhole(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, change := range []struct{ columns, alter string }{
		{"b INT, KEY k ((COALESCE(a, 0) % 7))", "RENAME INDEX k TO l, ADD COLUMN c INT"},
		{"b INT, KEY k ((COALESCE(a, 0) % 7))", "RENAME INDEX k TO l, DROP COLUMN b, ADD COLUMN b INT"},
		{"v DOUBLE AS (ROUND(b)) VIRTUAL, b DOUBLE, KEY k (v)", "MODIFY v DOUBLE AS (ROUND(b)) VIRTUAL FIRST"},
		{"v DOUBLE AS (ROUND(b)) VIRTUAL, b DOUBLE, KEY k (v)", "CHANGE v w DOUBLE AS (ROUND(b)) VIRTUAL FIRST"},
	} {
		for _, method := range []string{"auto", "shadow"} {
			t.Run(method+" "+change.alter, func(t *testing.T) {
				db, database := mysqltest.Database(t, i)
				exec := func(s string) {
					if _, err := db.Exec(s); err != nil {
						t.Fatal(s, err)
					}
				}
				exec("CREATE TABLE t (a BIGINT UNSIGNED NOT NULL PRIMARY KEY, " + change.columns + ")")
				exec("INSERT INTO t (a, b) VALUES (1, 1), (42, 2), (43, 3)")
				name := schema.Name{Schema: database, Table: "t"}
				tells(t, exit.Done, append(flagsTo(t, i), "run", "--drop-old", "--method="+method, "ALTER TABLE "+name.Quoted()+" "+change.alter)...)
				exec("ALTER TABLE t COMMENT = 'later'")
				exec("DELETE FROM t WHERE a = 1")
				exec("UPDATE t SET a = 44 WHERE a = 42")
				var table, op, kind, text string
				if err := db.QueryRow("CHECK TABLE t EXTENDED").Scan(&table, &op, &kind, &text); err != nil || text != "OK" {
					t.Error(kind, text, err)
				}
			})
		}
	}
}
