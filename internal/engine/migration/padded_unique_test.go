package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL9_PaddedUniqueValuesChangeHands: with the sql_mode PAD_CHAR_TO_FULL_LENGTH and a collation in which trailing blanks count, a
// unique CHAR gets another length, and its values move between rows. The source's padded value is not equal to the shadow's.
func TestL9_PaddedUniqueValuesChangeHands(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			collation := "utf8mb4_0900_ai_ci"
			if strings.HasPrefix(version, "mariadb") {
				collation = "utf8mb4_nopad_bin"
			}
			server := mysqltest.Own(t, version, sandbox.Options{})
			mysqltest.Exec(t, server.Open(t, ""), "SET GLOBAL sql_mode = 'STRICT_TRANS_TABLES,PAD_CHAR_TO_FULL_LENGTH'")
			for name, clauses := range map[string]string{
				"a longer CHAR": "MODIFY u CHAR(20) NOT NULL, MODIFY w CHAR(20)", "a VARCHAR": "MODIFY u VARCHAR(5) NOT NULL, MODIFY w VARCHAR(5)",
			} {
				t.Run(name, func(t *testing.T) {
					b := on(t, version, server)
					b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u CHAR(9) NOT NULL UNIQUE, w CHAR(9)) COLLATE "+collation,
						"INSERT INTO "+b.schema+".t VALUES (1, 'a', 'a'), (2, 'b', 'b'), (3, 'c', 'c'), (4, 'd', 'd'), (5, 'e', 'e')")
					b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows, b.settings.RowCopy.Workers = 1, 1, 1
					moved := false
					b.mustMigrate(clauses+", ADD UNIQUE (w)", func(e event.Event) {
						if _, copied := e.(event.ChunkCopied); copied && !moved {
							moved = true
							for _, c := range []string{"u", "w"} {
								b.exec("UPDATE "+b.schema+".t SET "+c+" = 'x' WHERE id = 1", "UPDATE "+b.schema+".t SET "+c+" = 'a' WHERE id = 5",
									"UPDATE "+b.schema+".t SET "+c+" = 'e' WHERE id = 1")
							}
						}
					})
					got := b.value("SELECT GROUP_CONCAT(id, RTRIM(u), RTRIM(w) ORDER BY id) FROM " + b.schema + ".t")
					if got != "1ee,2bb,3cc,4dd,5aa" {
						t.Errorf("the table has %s", got)
					}
				})
			}
		})
	}
}
