package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// refusedRows are rows that the application may write and the altered table can't hold.
var refusedRows = []struct {
	name      string
	column    string // a, of the source
	alter     string
	good, bad string // values of a
	told      string // the message's text after the key
}{
	{name: "too long", column: "VARCHAR(40)", alter: "MODIFY a VARCHAR(5)", good: "'short'", bad: "'longer'", told: "'a'"},
	{
		name:   "too long, key changed",
		column: "TEXT",
		alter:  "MODIFY a TINYTEXT, MODIFY id VARCHAR(20) NOT NULL",
		good:   "'short'",
		bad:    "REPEAT('x', 256)",
		told:   "'a'",
	},
	{name: "out of range", column: "INT", alter: "MODIFY a SMALLINT UNSIGNED", good: "65535", bad: "-1", told: "'a'"},
	{name: "NULL", column: "INT", alter: "MODIFY a INT NOT NULL", good: "0", bad: "NULL", told: "'a'"},
	{name: "member gone", column: "ENUM('x','y','z')", alter: "MODIFY a ENUM('z','x')", good: "'z'", bad: "'y'", told: "'a'"},
	{name: "member gone from a set", column: "SET('x','y','z')", alter: "MODIFY a SET('z','x')", good: "'x,z'", bad: "'x,y'", told: "'a'"},
	{
		name:   "not of the charset",
		column: "VARCHAR(9)",
		alter:  "MODIFY a VARCHAR(9) CHARACTER SET latin1",
		good:   "'é'",
		bad:    "'中'",
		told:   "'a'",
	},
	{
		name:   "bytes that are no text",
		column: "VARBINARY(9)",
		alter:  "MODIFY a VARCHAR(9) CHARACTER SET utf8mb4",
		good:   "X'C3A9'",
		bad:    "X'61FF'",
		told:   "'a'",
	},
	{name: "no date", column: "VARCHAR(20)", alter: "MODIFY a DATE", good: "'2020-02-29'", bad: "'2021-02-29'", told: "'a'"},
	{name: "no number", column: "VARCHAR(20)", alter: "MODIFY a BIGINT", good: "'12'", bad: "'7 apples'", told: "'7 apples'"},
	{name: "no document", column: "TEXT", alter: "MODIFY a JSON", good: "'{}'", bad: "'{'", told: "t_shadow.a"},
	{name: "duplicate", column: "INT", alter: "ADD UNIQUE KEY a (a)", good: "NULL", bad: "7", told: `"7"`},
	{
		name:   "duplicate by collation",
		column: "VARCHAR(9) COLLATE utf8mb4_bin",
		alter:  "MODIFY a VARCHAR(9) COLLATE utf8mb4_general_ci, ADD UNIQUE KEY a (a)",
		good:   "NULL",
		bad:    "'É'",
		told:   "É",
	},
}

// TestL9_RefusedRowStops: a row that the altered table can't hold ends the run, which names its
// key, whichever way the row comes. The row is never left out, truncated or made NULL. The source
// is as the application left it, and nothing else is left.
func TestL9_RefusedRowStops(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range refusedRows {
		for _, version := range inTurn(t, versions) {
			for _, w := range ways {
				t.Run(fmt.Sprintf("%s/%s/%s", c.name, version, w), func(t *testing.T) {
					t.Parallel()
					b := setup(t, version)
					b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, a "+c.column+") CHARACTER SET utf8mb4",
						"INSERT INTO "+b.schema+".t VALUES (1, "+c.good+"), (2, "+c.good+"), (9, "+c.good+")")
					bring := "INSERT INTO " + b.schema + ".t VALUES (777, " + c.bad + ")"
					if strings.HasPrefix(c.name, "duplicate") {
						b.exec(strings.Replace(strings.Replace(bring, "777", "778", 1), "É", "e", 1))
					}
					b.refuses(c.alter, bring, w, c.told)
				})
			}
		}
	}
}

// refuses runs an ALTER, and brings the bad row 777 in one way.
func (b *bench) refuses(alter, bring string, w way, column string) {
	b.Helper()
	listen := func(event.Event) {}
	switch w {
	case byCopy:
		b.exec(bring)
	case byEarlier:
		listen = onPhase(event.PhaseCopy, func() { b.exec(bring) })
	case byLater:
		listen = onPhase(event.PhaseCatchUp, func() { b.exec(bring) })
	}
	definition := func() string {
		var name, text string
		if err := b.db.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+b.schema+".t").Scan(&name, &text); err != nil {
			b.Fatal(err)
		}
		return text
	}
	was := definition()
	b.cfg.NoPrescan = true // it would find it before the copy
	_, err := b.migrate(b.ctx(), alter, listen)
	var failed *failure.Failure
	if !errors.As(err, &failed) || failed.Swapped || !strings.Contains(failed.Left, "is untouched and nothing is left") {
		b.Fatalf("the error is %v", err)
	}
	cause := failed.Err.Error()
	if isMariaDB(b.version) {
		cause = strings.ReplaceAll(cause, "`", "'") // some messages quote names so
	}
	// MySQL before 8.0.13 names the column in the place of a text that is no number.
	told := strings.Contains(cause, column) || dbconn.Number(err) == 1265 && strings.Contains(cause, "'a'")
	if !strings.Contains(cause, "key (777)") || !told {
		b.Errorf("row 777, or %s, is not named: %v", column, err)
	}
	if definition() != was {
		b.Errorf("the table is\n%s\nand was\n%s", definition(), was)
	}
	if tables := b.value(
		"SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema + "'",
	); tables != "t" {
		b.Errorf("tables are %s", tables)
	}
	if rows := b.value("SELECT SUM(id = 777) FROM " + b.schema + ".t"); rows != "1" {
		b.Errorf("%s rows of the bad kind are in the table", rows)
	}
}
