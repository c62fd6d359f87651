package prescan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
)

// violation is one way in which values may not fit: a column, an ALTER, values that fit and values
// that don't.
type violation struct {
	name   string
	column string // its definition
	alter  string
	good   []string
	bad    []string
	kind   string
	// fix is the clause that accepts the rows; "" for none.
	fix string
}

var violations = []violation{
	{
		"NULL",
		"v VARCHAR(10) NULL DEFAULT 'x' COMMENT 'a NOT NULL'",
		"MODIFY v VARCHAR(10) NOT NULL DEFAULT 'x' COMMENT 'a NOT NULL'",
		[]string{
			"'a'", "''",
		},
		[]string{"NULL"},
		"null",
		"MODIFY `v` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NULL DEFAULT 'x' COMMENT 'a NOT NULL'",
	},
	{
		"string too long", "v VARCHAR(20) NOT NULL", "MODIFY v VARCHAR(3) NOT NULL", []string{"'abc'", "'äöü'"},
		[]string{"'abcd'", "'äöüß'", "'ab       '"}, "too_long",
		"MODIFY `v` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL",
	},
	{"text too long", "v TEXT", "CHANGE v w VARCHAR(3)", []string{"'abc'", "NULL"}, []string{"'abcd'", "REPEAT('x', 64)"},
		"too_long", "CHANGE `v` `w` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL"},
	{
		"blanks don't count for a long one", "v VARCHAR(600)", "MODIFY v VARCHAR(3)",
		[]string{"'abc'", "'ab       '"}, []string{"'abcd'", "' abc '"}, "too_long",
		"MODIFY `v` varchar(600) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL",
	},
	{
		"text too long in bytes", "v LONGTEXT", "MODIFY v TINYTEXT", []string{"REPEAT('x', 255)"},
		[]string{"REPEAT('x', 256)", "REPEAT('ä', 128)"}, "too_long",
		"MODIFY `v` text CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
	},
	{
		"bytes too long", "v VARBINARY(20)", "MODIFY v BINARY(3)", []string{"'abc'"}, []string{"'abcd'", "'ab  '"},
		"too_long", "MODIFY `v` binary(4) DEFAULT NULL",
	},
	{"number too long as text", "v INT", "MODIFY v VARCHAR(3)", []string{"123", "-12"}, []string{"1234", "-123"},
		"too_long", "MODIFY `v` varchar(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL"},
	{
		"out of range", "v INT NOT NULL", "MODIFY v TINYINT NOT NULL", []string{"127", "-128"},
		[]string{"128", "-129"}, "out_of_range", "MODIFY `v` smallint NOT NULL",
	},
	{
		"unsigned to signed", "v INT UNSIGNED", "MODIFY v INT", []string{"2147483647", "0"},
		[]string{"2147483648", "4294967295"}, "out_of_range", "MODIFY `v` bigint DEFAULT NULL",
	},
	{
		"signed to unsigned", "v INT", "MODIFY v INT UNSIGNED", []string{"2147483647", "0"},
		[]string{"-1", "-2147483648"}, "out_of_range", "MODIFY `v` bigint DEFAULT NULL",
	},
	{
		"decimal rounds out of range", "v DECIMAL(6,2)", "MODIFY v DECIMAL(3,1)", []string{"99.94", "-99.9"},
		[]string{"99.95", "100", "-1234"}, "out_of_range", "MODIFY `v` decimal(5,1) DEFAULT NULL",
	},
	{"double out of range", "v DOUBLE", "MODIFY v FLOAT", []string{"1e38", "0.5"}, []string{"1e39", "-1e300"}, "out_of_range", ""},
	{
		"number as YEAR", "v INT", "MODIFY v YEAR", []string{"0", "7", "1901", "2155"},
		[]string{"100", "1900", "2156", "-1"}, "out_of_range", "",
	},
	{"BIT", "v BIT(9)", "MODIFY v BIT(3)", []string{"7", "0"}, []string{"8", "511"}, "too_long", ""},
	{"INT as BIT", "v INT", "MODIFY v BIT(3)", []string{"7", "0"}, []string{"8", "-1"}, "too_long", ""},
	{
		"ENUM member", "v ENUM('a','b','x','y')", "MODIFY v ENUM('b','a')", []string{"'a'", "'b'", "NULL"},
		[]string{"'x'"}, "member",
		"MODIFY `v` enum('b','a','x') CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL",
	},
	{
		"SET member", "v SET('a','b','x','y')", "MODIFY v SET('b','a')", []string{"'a'", "'a,b'", "''"},
		[]string{"'x'", "'a,x'"}, "member",
		"MODIFY `v` set('b','a','x') CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL",
	},
	{"text as ENUM", "v VARCHAR(9)", "MODIFY v ENUM('a','b')", []string{"'a'", "'B'", "'1'"}, []string{"'c'", "'7'"}, "member", ""},
	{
		"other charset", "v VARCHAR(9) NOT NULL", "MODIFY v VARCHAR(9) CHARACTER SET latin1 NOT NULL",
		[]string{"'ä?'", "''"}, []string{"'ж'", "'aж'"}, "characters",
		"MODIFY `v` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL",
	},
	{"utf8mb3", "v VARCHAR(9)", "MODIFY v VARCHAR(9) CHARACTER SET utf8mb3", []string{"'ä€'"}, []string{"'😀'"},
		"characters", "MODIFY `v` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL"},
	{
		"bytes as characters", "v VARBINARY(9)", "MODIFY v VARCHAR(9) CHARACTER SET utf8mb4",
		[]string{"'abc'", "'ä'"}, []string{"0xFF", "0x61C3"}, "characters", "",
	},
	{"JSON", "v TEXT", "MODIFY v JSON", []string{"'{}'", "'[1, \"a\"]'", "NULL"}, []string{"'{'", "''", "'abc'"}, "invalid", ""},
	{
		"text as number", "v VARCHAR(9)", "MODIFY v INT", []string{"'12'", "' 7'", "'1e2'", "'-3.4'", "NULL"},
		[]string{"'abc'", "''", "'12abc'"}, "invalid", "",
	},
	{
		"text as date", "v VARCHAR(20)", "MODIFY v DATE", []string{"'2020-01-02'", "'20200102'", "NULL"},
		[]string{"'abc'", "'2020-02-30'", "''", "'2020-01-02x'"}, "invalid", "",
	},
	{
		"DATETIME as TIMESTAMP", "v DATETIME NOT NULL", "MODIFY v TIMESTAMP NOT NULL",
		[]string{"'2020-01-02'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"},
		[]string{"'1970-01-01 00:00:00'", "'2038-01-19 03:14:08'", "'1900-01-01'"}, "out_of_range",
		"MODIFY `v` datetime NOT NULL",
	},
	{
		"zero month", "v DATE", "MODIFY v TIMESTAMP NULL", []string{"'2020-01-02'"},
		[]string{"'2020-00-01'", "'2020-01-00'"}, "out_of_range", "MODIFY `v` date NULL DEFAULT NULL",
	},
	{"zero date", "v DATETIME NOT NULL", "MODIFY v TIMESTAMP NOT NULL", []string{"'2020-01-02'"}, []string{"'0000-00-00'"}, "invalid", ""},
	{"TIME", "v INT", "MODIFY v TIME", []string{"123", "-5959"}, []string{"61", "99999999"}, "invalid", ""},
	{
		"generated column", "v INT", "ADD g TINYINT AS (v * 10) STORED", []string{"12", "-12", "NULL"},
		[]string{"13", "-100"}, "out_of_range", "",
	},
	{"generated column NOT NULL", "v INT", "ADD g INT AS (v * 10) VIRTUAL NOT NULL", []string{"12", "-12"}, []string{"NULL"}, "null", ""},
}

// unruled are violations without a rule for all of their rows: the other rows are listed one by
// one.
var unruled = map[string]bool{
	"TIME":                      true,
	"zero date":                 true,
	"generated column":          true,
	"generated column NOT NULL": true,
	"text as date":              true,
}

// TestEveryKindIsFound: for each kind of violation the prescan counts the rows, names the first
// ten, and has a SELECT that lists all of them. The clause that it proposes accepts them.
func TestEveryKindIsFound(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(b *bench) {
		for _, v := range violations {
			b.Run(v.name, func(t *testing.T) {
				b := b.with(t)
				ids := b.fill(v)
				told, err := b.check(v.alter)
				if !errors.Is(err, failure.ErrUnfit) || len(told.findings) == 0 {
					t.Fatalf("error is %v", err)
				}
				f, ok := told.find(v.kind)
				if !ok || !f.Refused {
					t.Fatalf("found %+v, want %s", told.findings, v.kind)
				}
				b.want(f, ids)
				if rule := !strings.Contains(f.Query, "`id` IN ("); rule == unruled[v.name] {
					t.Errorf("listed by %s", f.Query)
				}
				if f.Fix != v.fix {
					t.Errorf("the fix is  %s\nwant        %s", f.Fix, v.fix)
				}
				if f.Fix != "" {
					if told, err := b.check(f.Fix); err != nil {
						t.Errorf("the fix %s: %v, %+v", f.Fix, err, told.findings)
					}
				}
				b.exec("DELETE FROM t WHERE id > 100")
				if told, err := b.check(v.alter); err != nil {
					t.Errorf("without the rows: %v", err)
				} else if !told.done.Needed || told.done.Rows != 40 {
					t.Errorf("%+v", told.done)
				}
			})
		}
	})
}

// fill makes table t with 40 good rows and 15 bad rows, and returns the ids of the bad rows.
func (b *bench) fill(v violation) (ids []int) {
	b.Helper()
	b.exec("DROP TABLE IF EXISTS t", "CREATE TABLE t (id INT PRIMARY KEY, "+v.column+") CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci")
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("(%d, %s)", i+1, v.good[i%len(v.good)]))
	}
	for i := range 15 {
		rows = append(rows, fmt.Sprintf("(%d, %s)", 101+3*i, v.bad[i%len(v.bad)]))
		ids = append(ids, 101+3*i)
	}
	b.exec("INSERT INTO t VALUES " + strings.Join(rows, ", "))
	return ids
}
