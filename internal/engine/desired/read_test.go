package desired

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// write writes a file in the test's own folder.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	write(
		t, folder, "b.sql",
		"-- two; of them\n\nCREATE TABLE IF NOT EXISTS `od``d`.`t;1` (a INT COMMENT ';');\n# x\n/* ; */ create table t2(`(` int) ENGINE = InnoDB ; ;\n",
	)
	write(t, folder, "a.SQL", "\ufeffCREATE TABLE /*!32312 IF NOT EXISTS*/ t3\n(a INT) /*!50100 PARTITION BY HASH (a) */")
	write(t, folder, "c.txt", "no SQL")
	_, err := Read(token.Dialect{}, folder, "")
	if err == nil || !strings.Contains(err.Error(), "the database of t3 is missing: write database.t3, or use --database") {
		t.Fatalf("%v", err)
	}
	statements, err := Read(token.Dialect{}, write(t, t.TempDir(), "x.sql", "CREATE TABLE a.b (c INT); CREATE TABLE a.c (c INT)"), "a")
	if err != nil || len(statements) != 2 || statements[1].Name != (schema.Name{Schema: "a", Table: "c"}) {
		t.Fatalf("%v, %v", statements, err)
	}
	write(
		t, folder, "b.sql",
		"-- two; of them\n\nCREATE TABLE IF NOT EXISTS `shop`.`t;1` (a INT COMMENT ';');\n# x\n/* ; */ create table t2(`(` int) ENGINE = InnoDB ; ;\n",
	)
	statements, err = Read(token.Dialect{}, folder, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range statements {
		got = append(got, strings.TrimPrefix(s.Place(), folder+"/")+" "+s.Name.String())
	}
	if text := strings.Join(got, ", "); text != "a.SQL:1 shop.t3, b.sql:3 shop.t;1, b.sql:5 shop.t2" {
		t.Error(text)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "the file has no CREATE TABLE",
		"\n\nDROP TABLE t":                     "the file has no CREATE TABLE",
		"SET NAMES utf8":                       "the file has no CREATE TABLE",
		"INSERT INTO t VALUES (1)":             "x.sql:1: only CREATE TABLE is read, and this is INSERT INTO t VALUES (1)",
		"CREATE TABLE t (a INT); DROP TABLE t": "x.sql:1: only CREATE TABLE is read, and this is DROP TABLE t",
		"CREATE TABLE t (a INT); ALTER TABLE t ADD b INT":       "only CREATE TABLE",
		"CREATE TABLE t (a INT); CREATE INDEX i ON t (a)":       "only CREATE TABLE",
		"DELIMITER ;;\nCREATE TABLE t (a INT);;\nDELIMITER ;\n": "only CREATE TABLE is read, and this is DELIMITER",
		"CREATE VIEW v AS ...":                                  "the file has no CREATE TABLE",
		"CREATE TEMPORARY TABLE t (a INT)":                      "a temporary table",
		"CREATE TABLE \"t\" (a INT)":                            "no table's name",
		"CREATE TABLE t LIKE u":                                 "not defined by its columns",
		"CREATE TABLE t (LIKE u)":                               "not defined by its columns",
		"CREATE TABLE t (a INT":                                 "not defined by its columns",
		"CREATE TABLE t ()":                                     "not defined by its columns",
		"CREATE TABLE t SELECT 1":                               "not defined by its columns",
		"CREATE TABLE t (SELECT 1)":                             "SELECT: a definition brings no rows",
		"CREATE TABLE t (a INT) AS SELECT 1":                    "AS: a definition",
		"CREATE TABLE t (a INT) TABLE u":                        "TABLE: a definition",
		"CREATE TABLE t (a INT) IGNORE (SELECT 1)":              "IGNORE: a definition",
		"CREATE TABLE t (a INT) START TRANSACTION":              "START TRANSACTION",
		"CREATE TABLE t (a INT);\nCREATE TABLE t(a INT)":        "x.sql:2: table shop.t is defined at",
		"CREATE TABLE other.t (a INT)":                          "the statement names database other, --database names shop",
		"CREATE TABLE t (a INT) COMMENT 'x":                     "a quote is not closed",
		"CREATE TABLE t (a INT) /* x":                           "a comment is not closed",
		"CREATE TABLE /*!50000 t (a INT) */":                    "an executable comment begins before the columns",
		"CREATE TABLE /*!50000 t */ (a INT)":                    "",
		"/*!50000 CREATE TABLE t (a INT); */":                   "inside of an executable comment",
	} {
		_, err := Read(token.Dialect{}, write(t, t.TempDir(), "x.sql", text), "shop")
		if want == "" && err == nil {
			continue
		}
		if want == "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(
		token.Dialect{},
		t.TempDir(),
		"shop",
	); err == nil ||
		!strings.Contains(err.Error(), "no file whose name ends in .sql") {
		t.Error(err)
	}
	if _, err := Read(token.Dialect{}, "/no/such/file.sql", "shop"); err == nil {
		t.Error("a file that isn't there")
	}
}

// TestADumpHasMore: what a dump of a database has next to its tables is left out, and reported if it is an object of its own.
func TestADumpHasMore(t *testing.T) {
	text := `/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
SET NAMES utf8mb4;
DROP TABLE IF EXISTS ` + "`t`" + `;
CREATE TABLE ` + "`t`" + ` (a INT);
LOCK TABLES t WRITE;
UNLOCK TABLES;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=` + "`root`@`%`" + `*/ /*!50003 TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.a = 2; END */;;
DELIMITER ;
/*!50001 CREATE VIEW ` + "`v`" + ` AS SELECT 1 AS ` + "`a`" + `*/;
/*!50001 DROP VIEW IF EXISTS ` + "`v`" + `*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=` + "`root`@`localhost`" + ` SQL SECURITY DEFINER */
/*!50001 VIEW ` + "`v`" + ` AS SELECT 1 AS ` + "`a`" + ` */;
CREATE TABLE u (b INT);
`
	statements, leftOut, err := ReadDump(token.Dialect{}, write(t, t.TempDir(), "x.sql", text), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if len(statements) != 2 || statements[0].Name.Table != "t" || statements[1].Name.Table != "u" {
		t.Errorf("%+v", statements)
	}
	got := strings.Join(leftOut, "\n")
	for _, want := range []string{"x.sql:7: DELIMITER", "x.sql:10: /*!50001 CREATE VIEW", "x.sql:12: /*!50001 CREATE ALGORITHM"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if len(leftOut) != 3 {
		t.Errorf("left out:\n%s", got)
	}
}

// TestRewrite: only the name, the comment, foreign keys and the names of checks change, and every
// line keeps its number.
func TestRewrite(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE TABLE t (a INT)":                                                                                                        "CREATE TABLE `d`.`s` (a INT) COMMENT 'm'",
		"CREATE TABLE\nIF NOT EXISTS\n`d`.t -- (\n(a INT)":                                                                              "CREATE TABLE `d`.`s` \n\n\n(a INT) COMMENT 'm'",
		"CREATE TABLE t/*!32312 x*/(a INT)":                                                                                             "",
		"CREATE TABLE t (a INT) COMMENT 'it''s' COMMENT='2'":                                                                            "CREATE TABLE `d`.`s` (a INT) COMMENT 'm' COMMENT 'm' COMMENT='m'",
		"CREATE TABLE t (a INT COMMENT 'x') PARTITION BY HASH (a) (PARTITION p COMMENT 'y')":                                            "CREATE TABLE `d`.`s` (a INT COMMENT 'x') COMMENT 'm' PARTITION BY HASH (a) (PARTITION p COMMENT 'y')",
		"CREATE TABLE t (a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b),\n KEY (a))":                                              "CREATE TABLE `d`.`s` (a INT,\n KEY (a)) COMMENT 'm'",
		"CREATE TABLE t (FOREIGN KEY (a)\nREFERENCES u (b), a INT)":                                                                     "CREATE TABLE `d`.`s` (\na INT) COMMENT 'm'",
		"CREATE TABLE t (a INT /*!80016 CHECK (a) */, CONSTRAINT FOREIGN KEY (a) REFERENCES u (b), FOREIGN KEY x (a) REFERENCES u (c))": "CREATE TABLE `d`.`s` (a INT /*!80016 CONSTRAINT `s_0` CHECK (a) */) COMMENT 'm'",
		"CREATE TABLE t (a INT CHECK (a > 0), CONSTRAINT c CHECK (`check` = 'CHECK'), CONSTRAINT CHECK (b))":                            "CREATE TABLE `d`.`s` (a INT CONSTRAINT `s_0` CHECK (a > 0), CONSTRAINT `s_1` CHECK (`check` = 'CHECK'), CONSTRAINT `s_2` CHECK (b)) COMMENT 'm'",
		"CREATE TABLE t (a INT REFERENCES u (b))":                                                                                       "",
		"CREATE TABLE t (a INT) /*!80023 COMMENT 'x' */":                                                                                "",
		"CREATE TABLE t (a INT, /*!50000 FOREIGN KEY (a) REFERENCES u (b), */ b INT)":                                                   "",
		"CREATE TABLE t (a INT,, b INT)":                                                                                                "",
	} {
		statements, _, err := parse("x.sql", text, "d")
		if err == nil {
			var made scratch
			made, err = statements[0].rewrite(schema.Name{Schema: "d", Table: "s"}, "m", everyCheck)
			if err == nil && (want == "" || made.text != want) {
				t.Errorf("%s:\n%s, want\n%s", text, made.text, want)
			}
			if err == nil && strings.Count(made.text, "\n") != strings.Count(text, "\n") {
				t.Errorf("%s: lines moved: %q", text, made.text)
			}
		}
		if err != nil && want != "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRewriteTells: what is removed from the statement is kept separately.
func TestRewriteTells(t *testing.T) {
	statements, _, err := parse(
		"x.sql",
		`CREATE TABLE t (a INT CHECK (a > 0), CONSTRAINT c CHECK (a), CONSTRAINT f FOREIGN KEY i (a, `+"`b`"+`) REFERENCES o.u (c, d)
		ON UPDATE SET NULL ON DELETE RESTRICT) COMMENT 'it''s \\ ok'`,
		"d",
	)
	if err != nil {
		t.Fatal(err)
	}
	made, err := statements[0].rewrite(schema.Name{Schema: "d", Table: "s"}, "m", everyCheck)
	if err != nil {
		t.Fatal(err)
	}
	if made.comment != `it's \ ok` || len(made.checks) != 2 || made.checks[0] != (check{"", "s_0"}) ||
		made.checks[1] != (check{"c", "s_1"}) {
		t.Errorf("%+v", made)
	}
	theirs := readForeign(
		"CONSTRAINT `f` FOREIGN KEY (`a`, `b`) REFERENCES `o`.`u` (`c`, `d`) ON DELETE NO ACTION ON UPDATE SET NULL",
		schema.Name{Schema: "d", Table: "t"},
	)
	ours := readForeign(made.foreign[0], schema.Name{Schema: "d", Table: "t"})
	if !ours.same(theirs, false) {
		t.Errorf("%+v is not\n%+v", ours, theirs)
	}
	for _, other := range []string{
		"CONSTRAINT `g` FOREIGN KEY (`a`, `b`) REFERENCES `o`.`u` (`c`, `d`) ON UPDATE SET NULL",
		"FOREIGN KEY (`b`, `a`) REFERENCES `o`.`u` (`c`, `d`) ON UPDATE SET NULL",
		"FOREIGN KEY (`a`, `b`) REFERENCES `u` (`c`, `d`) ON UPDATE SET NULL",
		"FOREIGN KEY (`a`, `b`) REFERENCES `o`.`u` (`c`, `e`) ON UPDATE SET NULL",
		"FOREIGN KEY (`a`, `b`) REFERENCES `o`.`u` (`c`, `d`) ON UPDATE SET NULL ON DELETE CASCADE",
	} {
		if ours.same(readForeign(other, schema.Name{Schema: "d", Table: "t"}), false) {
			t.Errorf("the same: %s", other)
		}
	}
}
