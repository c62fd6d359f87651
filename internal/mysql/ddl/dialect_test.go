package ddl

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// TestL11_StatementsOfADialect: a statement is read as a server of the dialect executes it, and the
// result's text is in the usual dialect.
func TestL11_StatementsOfADialect(t *testing.T) {
	ansi, noEscapes := token.Of("ANSI_QUOTES", false, 9, 7, 4), token.Of("NO_BACKSLASH_ESCAPES", false, 9, 7, 4)
	mysql, mariaDB := token.Of("", false, 8, 0, 12), token.Of("", true, 10, 11, 18)
	for _, c := range []struct {
		dialect token.Dialect
		text    string
		want    string
	}{
		{ansi, `ALTER TABLE "a"."t" CHANGE "a" "b" INT, CHANGE "b" "a" INT`,
			"Table: a.t\nClauses: CHANGE `a` `b` INT, CHANGE `b` `a` INT\nParsed: true\nRenames: [{Old:a New:b} {Old:b New:a}]\nModified: [a b]"},
		{mysql, `ALTER TABLE t COMMENT "a", ADD b INT`, "Clauses: COMMENT 'a', ADD b INT\nParsed: true\nAdded: [b]"},
		{noEscapes, `ALTER TABLE t COMMENT 'a\', DROP b, COMMENT '\'`, `Clauses: COMMENT 'a\\', DROP b, COMMENT '\\'` + "\nParsed: true\nDropped: [b]"},
		{mariaDB, "ALTER TABLE t /*!80000 DROP a, */ ADD b INT /*M! , DROP c */", "Clauses: ADD b INT   , DROP c\nParsed: true\nAdded: [b]\nDropped: [c]"},
		{mysql, "ALTER TABLE t /*!80012 DROP a, */ ADD b INT /*M! , DROP c */ /*!80013 , DROP d */", "Clauses: DROP a,   ADD b INT\nParsed: true\nAdded: [b]\nDropped: [a]"},
		{mariaDB, "ALTER ONLINE TABLE IF EXISTS a.t WAIT 5 ADD b INT", "Table: a.t\nClauses: ADD b INT\nParsed: true\nAdded: [b]"},
		{mariaDB, "ALTER TABLE wait NOWAIT ADD `wait` INT", "Table: .wait\nClauses: ADD `wait` INT\nParsed: true\nAdded: [wait]"},
		{mysql, "CREATE INDEX i ON t (a) /*!99999 , */ /* x */ -- y", "Clauses: ADD INDEX i (a)\nParsed: true"},
	} {
		s, err := ParseStatementIn(c.dialect, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := show(s.Alter)
		for line := range strings.SplitSeq(c.want, "\n") {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("%s: %s lacks\n%s", c.text, got, line)
			}
		}
	}
	for _, text := range []string{"ALTER ONLINE TABLE t ADD b INT", "ALTER TABLE IF EXISTS t ADD b INT", "ALTER TABLE t COMMENT 'a", "ALTER TABLE t ADD b INT /* c", "ALTER TABLE t ADD b INT /*!99999 c", "ALTER TABLE t ADD b INT /*!50000 , ADD c INT"} {
		if _, err := ParseStatementIn(mysql, text); !errors.Is(err, ErrNotAlter) && !errors.Is(err, ErrNotTaken) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestGuess: before the server is known, a statement that any server can read is accepted.
func TestGuess(t *testing.T) {
	for text, can := range map[string]bool{
		`ALTER TABLE t ADD a INT`: true, `ALTER TABLE "t" ADD "a" INT`: true, `ALTER TABLE t COMMENT '\'`: true, `ALTER TABLE "t" COMMENT '\'`: true,
		"ALTER ONLINE TABLE IF EXISTS t ADD a INT": true,
		"DROP TABLE t /*!99999 , u */":             true, "ALTER TABLE t COMMENT '": false, "DELETE FROM t": false, "": false,
	} {
		err := Guess(func(d token.Dialect) error {
			_, err := ParseStatementIn(d, text)
			return err
		})
		if (err == nil) != can {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"ALTER TABLE a.t ADD b INT, COMMENT '\\' ; ": "ADD b INT, COMMENT '\\'",
		"alter table a.`t` /*!50000 ADD b INT */;":   "/*!50000 ADD b INT */",
	} {
		table, clauses, err := Cut(text)
		if err != nil || clauses != want || table != (schema.Name{Schema: "a", Table: "t"}) {
			t.Errorf("%s: %v, %q, %v", text, table, clauses, err)
		}
	}
	for _, text := range []string{"", "ALTER TABLE t", "ADD b INT", "ALTER VIEW v AS SELECT 1"} {
		if _, _, err := Cut(text); !errors.Is(err, ErrNotAlter) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParseStatementIn holds for any text and dialect: nothing panics, and what was read reads the
// same again, for all servers.
func FuzzParseStatementIn(f *testing.F) {
	f.Add(`ALTER TABLE "t" CHANGE "a" "b" INT /*!80000 , DROP c */, COMMENT 'x\'`, true, true, false, 80012)
	f.Add("ALTER TABLE t /*M!100000 DROP b, */ ADD b INT -- x\n", false, false, true, 101118)
	f.Fuzz(func(t *testing.T, text string, ansi, literal, maria bool, version int) {
		d := token.Dialect{ANSIQuotes: ansi, NoBackslashEscapes: literal, MariaDB: maria, Version: max(version, 1)}
		s, err := ParseStatementIn(d, text)
		if err != nil || s.Kind != KindAlter || strings.Contains(s.Alter.Clauses, "/*!") || strings.Contains(s.Alter.Clauses, "/*M!") ||
			strings.Contains(strings.ToUpper(s.Alter.Clauses), "WAIT") {
			return
		}
		again, err := ParseStatementIn(
			token.Dialect{MariaDB: !maria, ANSIQuotes: !ansi, Version: 80012},
			s.Alter.Restore(schema.Name{Schema: "a", Table: "t"}),
		)
		if err != nil {
			t.Fatal(err)
		}
		again.Alter.Table = s.Alter.Table
		if show(again.Alter) != show(s.Alter) {
			t.Fatalf("%q reads\n%s\nand then\n%s", text, show(s.Alter), show(again.Alter))
		}
	})
}
