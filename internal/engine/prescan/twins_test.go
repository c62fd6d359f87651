package prescan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
)

// twins is one way in which rows may get the same value of a unique key.
type twins struct {
	name    string
	columns string
	alter   string
	rows    []string // values after the id, from 1
	bad     []int    // ids, in the order of their values
	fix     string
	least   string // the servers that have it: "9.7"
}

var sharing = []twins{
	{
		"new key", "a INT, b VARCHAR(9)", "ADD UNIQUE u (a, b)",
		[]string{"1, 'x'", "1, 'y'", "1, 'X'", "NULL, 'x'", "NULL, 'x'", "2, NULL", "2, NULL", "1, 'x'"},
		[]int{1, 3, 8}, "ADD KEY `u` (`a`,`b`)", "",
	},
	{
		"new key, with an index", "a INT, KEY (a)", "ADD UNIQUE u (a)",
		[]string{"5", "1", "5", "2", "NULL", "NULL", "2"}, []int{4, 7, 1, 3}, "ADD KEY `u` (`a`)", "",
	},
	{
		"new key over a prefix", "a VARCHAR(20)", "ADD UNIQUE u (a(3))",
		[]string{"'abcd'", "'abce'", "'abd'", "'ab'"}, []int{1, 2}, "ADD KEY `u` (`a`(3))", "",
	},
	{
		"collation of a key",
		"a VARCHAR(20) COLLATE utf8mb4_bin, UNIQUE u (a)",
		"MODIFY a VARCHAR(20) COLLATE utf8mb4_0900_ai_ci",
		[]string{
			"'a'", "'A'", "'ä'", "'b'", "NULL", "'c'",
		},
		[]int{1, 2, 3},
		"MODIFY `a` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL",
		"",
	},
	{
		"charset of a key",
		"a VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin, UNIQUE u (a)",
		"MODIFY a VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
		[]string{
			"'a'", "'ä'", "'b'", "'B '", "'c'",
		},
		[]int{1, 2, 3, 4},
		"MODIFY `a` varchar(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL",
		"",
	},
	{
		"all strings of the table", "a VARCHAR(20) COLLATE utf8mb4_bin, UNIQUE u (a)",
		"CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", []string{"'a'", "'A'", "'b'"}, []int{1, 2},
		"MODIFY `a` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL", "",
	},
	{
		"type of a key", "a VARCHAR(20), UNIQUE u (a)", "MODIFY a INT",
		[]string{"'5'", "'05'", "'6'", "NULL", "'5.2'"}, []int{1, 2, 5}, "", "",
	},
	{
		"rounded values of a key", "a DATETIME(3), UNIQUE u (a)", "MODIFY a DATETIME",
		[]string{"'2020-01-01 00:00:00.6'", "'2020-01-01 00:00:01'", "'2020-01-01 00:00:01.7'"}, []int{1, 2}, "", "",
	},
	{
		"generated column", "a VARCHAR(20)", "ADD g VARCHAR(20) AS (LOWER(TRIM(a))) STORED, ADD UNIQUE u (g)",
		[]string{"'a'", "' A'", "'b'", "NULL", "NULL"}, []int{1, 2}, "ADD KEY `u` (`g`)", "",
	},
	{"constant", "a INT", "ADD c INT NOT NULL DEFAULT 7, ADD UNIQUE u (c)", []string{"1", "2"}, []int{1, 2}, "ADD KEY `u` (`c`)", ""},
	{
		"expression", "a VARCHAR(20) COLLATE utf8mb4_bin", "ADD UNIQUE u ((CONCAT(LOWER(a), 'x')))",
		[]string{"'a'", "'A'", "'b'", "NULL", "NULL"}, []int{1, 2}, "ADD KEY `u` ((concat(lower(`a`),_utf8mb4'x')))",
		"9.7",
	},
	{
		"renamed column", "a VARCHAR(20)", "CHANGE a z VARCHAR(20), ADD UNIQUE u (z)", []string{"'a'", "'A'", "'b'"},
		[]int{1, 2}, "ADD KEY `u` (`z`)", "",
	},
}

// TestTwinsAreFound: rows that would share the value of a unique key are counted, named and listed,
// whatever the reason. Nothing is found once they are deleted.
func TestTwinsAreFound(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(b *bench) {
		for _, c := range sharing {
			b.Run(c.name, func(t *testing.T) {
				if c.least != "" && !strings.HasPrefix(b.server.Release, c.least) {
					t.Skip("the server has none")
				}
				b := b.with(t)
				b.cfg.Prescan.Rows = 2
				b.exec(
					"DROP TABLE IF EXISTS t",
					"CREATE TABLE t (id INT PRIMARY KEY, "+c.columns+") CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
				)
				for i, row := range c.rows {
					b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, %s)", i+1, row))
				}
				told, err := b.check(c.alter)
				f, ok := told.find("duplicate")
				if !errors.Is(err, failure.ErrUnfit) || !ok || !f.Refused {
					t.Fatalf("error is %v, findings %+v", err, told.findings)
				}
				b.want(f, c.bad)
				if f.Fix != c.fix {
					t.Errorf("the fix is  %s\nwant        %s", f.Fix, c.fix)
				}
				b.exec("DELETE FROM t WHERE id IN (" + ids(c.bad[1:]) + ")")
				if c.name == "new key, with an index" {
					b.exec("DELETE FROM t WHERE id = 3")
				}
				if told, err := b.check(c.alter); err != nil {
					t.Errorf("without the twins: %v, %+v", err, told.findings)
				}
			})
		}
	})
}

func ids(list []int) string {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = fmt.Sprint(id)
	}
	return strings.Join(texts, ", ")
}

// TestFixOfTwins: with the proposed clause in place of a key or a collation, the ALTER succeeds.
func TestFixOfTwins(t *testing.T) {
	onEach(t, func(b *bench) {
		b.exec(
			"CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) COLLATE utf8mb4_bin, UNIQUE u (a))",
			"INSERT INTO t VALUES (1, 'a'), (2, 'A')",
		)
		for _, alter := range []string{"MODIFY a VARCHAR(20) COLLATE utf8mb4_general_ci", "ADD UNIQUE w ((LOWER(a)))"} {
			if strings.Contains(alter, "LOWER") && strings.HasPrefix(b.server.Release, "8.0.12") {
				continue
			}
			told, _ := b.check(alter)
			f, ok := told.find("duplicate")
			if !ok || f.Fix == "" {
				if !strings.Contains(alter, "LOWER") {
					b.Fatalf("%s: %+v", alter, told.findings)
				}
				continue
			}
			if told, err := b.check(f.Fix); err != nil {
				b.Errorf("%s: %v, %+v", f.Fix, err, told.findings)
			}
		}
	})
}

// TestNothingToProveCostsNothing: if the definitions prove that every row fits, the prescan reads
// no row.
func TestNothingToProveCostsNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) NOT NULL, n SMALLINT, g INT AS (n * 2) STORED, UNIQUE u (a), UNIQUE (g))",
			"INSERT INTO t (id, a, n) VALUES (1, 'a', 1), (2, 'b', 2)")
		for _, clauses := range []string{"ADD c INT", "ADD INDEX (n)", "DROP INDEX u", "MODIFY a VARCHAR(40) NULL", "MODIFY id BIGINT NOT NULL", "CHANGE a z VARCHAR(20) NOT NULL",
			"ADD c INT, ADD UNIQUE (c)", "ADD c INT NOT NULL AUTO_INCREMENT, ADD UNIQUE (c)", "ADD UNIQUE w (a, n)", "FORCE", "COMMENT 'x'", "DROP a", "MODIFY n INT"} {
			told, err := b.check(clauses)
			if err != nil || told.done.Needed || told.done.Rows != 0 {
				b.Errorf("%s: %+v (%v)", clauses, told.done, err)
			}
		}
		if told, err := b.check("MODIFY n TINYINT"); err != nil || !told.done.Needed || told.done.Rows != 2 {
			b.Errorf("%+v (%v)", told.done, err)
		}
	})
}

// TestRunIsRefusedBeforeTheCopy: with a prescan the run is refused before the copy; without one it
// stops in the copy, and names the row.
func TestRunIsRefusedBeforeTheCopy(t *testing.T) {
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))", "INSERT INTO t VALUES (1, 'a'), (2, 'too long')")
		told, err := b.run("MODIFY a VARCHAR(3)")
		var failed *failure.Failure
		if !errors.Is(err, failure.ErrUnfit) || !errors.As(err, &failed) || failed.Phase != "prescan" ||
			slices.Contains(told.phases, "copy") {
			b.Fatalf("error is %v, phases %v", err, told.phases)
		}
		b.untouched()
		b.cfg.NoPrescan = true
		told, err = b.run("MODIFY a VARCHAR(3)")
		if !errors.As(err, &failed) || failed.Phase != "copy" || !strings.Contains(err.Error(), "row with key (2)") ||
			slices.Contains(told.phases, "prescan") {
			b.Errorf("error is %v, phases %v", err, told.phases)
		}
		b.untouched()
		b.cfg.NoPrescan = false
		told, err = b.run("MODIFY a VARCHAR(8)")
		if err != nil || !told.done.Needed || told.done.Rows != 2 {
			b.Errorf("error is %v, %+v", err, told.done)
		}
	})
}

// untouched fails the test unless the table is unchanged and nothing is left.
func (b *bench) untouched() {
	b.Helper()
	got := b.texts("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema + "'")
	if !slices.Equal(got, []string{"t"}) {
		b.Errorf("tables %v", got)
	}
	if got := b.texts(
		"SELECT column_type FROM information_schema.columns WHERE table_schema = '" + b.schema + "' AND table_name = 't' AND column_name = 'a'",
	); got[0] != "varchar(20)" {
		b.Errorf("column %v", got)
	}
}

// TestLossesAreCounted: the prescan reports values that the server rounds without an error, and
// refuses nothing.
func TestLossesAreCounted(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(b *bench) {
		for name, c := range map[string]violation{
			"DECIMAL":         {column: "v DECIMAL(10,4)", alter: "MODIFY v DECIMAL(10,2)", good: []string{"1.25", "NULL", "-3"}, bad: []string{"1.251", "-0.0001"}},
			"whole numbers":   {column: "v DOUBLE", alter: "MODIFY v BIGINT", good: []string{"5", "-7"}, bad: []string{"0.5", "-1.25"}},
			"text as number":  {column: "v VARCHAR(9)", alter: "MODIFY v DECIMAL(9,1)", good: []string{"'1.5'", "'7'"}, bad: []string{"'1.55'"}},
			"DATETIME(6)":     {column: "v DATETIME(6)", alter: "MODIFY v DATETIME(3)", good: []string{"'2020-01-01 01:02:03.004'"}, bad: []string{"'2020-01-01 01:02:03.0045'"}},
			"time of day":     {column: "v DATETIME", alter: "MODIFY v DATE", good: []string{"'2020-01-01'", "NULL"}, bad: []string{"'2020-01-01 00:00:01'"}},
			"blanks of CHARs": {column: "v VARCHAR(9)", alter: "MODIFY v CHAR(9)", good: []string{"'a'", "' a'"}, bad: []string{"'a '"}},
		} {
			b.Run(name, func(t *testing.T) {
				b := b.with(t)
				ids := b.fill(c)
				told, err := b.check(c.alter)
				f, ok := told.find("loss")
				if err != nil || !ok || f.Refused {
					t.Fatalf("error is %v, findings %+v", err, told.findings)
				}
				b.want(f, ids)
				b.exec("DELETE FROM t WHERE id > 100")
				if told, err := b.check(c.alter); err != nil || len(told.findings) > 0 {
					t.Errorf("error is %v, findings %+v", err, told.findings)
				}
			})
		}
	})
}
