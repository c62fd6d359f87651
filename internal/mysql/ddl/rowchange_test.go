package ddl_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema/token"
)

func TestRowChange(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want string // the statement; or "!" and a part of the reason
		ansi bool
	}{
		{sql: "DELETE FROM shop.orders WHERE created_at < '2024-01-01';", want: "DELETE FROM `shop`.`orders` WHERE created_at < '2024-01-01'"},
		{sql: "delete /* old */ from orders\n where a = 1 -- yes\n and b = 'WHERE' ", want: "DELETE FROM `orders` WHERE a = 1  \n and b = 'WHERE'"},
		{sql: "UPDATE `t``x` SET a = a + 1, b = CONCAT(a, ', '), c = DEFAULT WHERE (a IS NULL)", want: "UPDATE `t``x` SET a = a + 1, b = CONCAT(a, ', '), c = DEFAULT WHERE (a IS NULL)"},
		{sql: "UPDATE t SET `set` = (a = 1) WHERE b IN (1, 2)", want: "UPDATE `t` SET `set` = (a = 1) WHERE b IN (1, 2)"},
		{sql: `DELETE FROM "t" WHERE "a" = 'x'`, ansi: true, want: "DELETE FROM `t` WHERE `a` = 'x'"},
		{sql: "DELETE FROM t", want: "!TRUNCATE"},
		{sql: "UPDATE t SET a = 1", want: "!WHERE TRUE"},
		{sql: "DELETE FROM t WHERE a = 1 LIMIT 10", want: "!LIMIT"},
		{sql: "DELETE FROM t WHERE a = 1 ORDER BY a", want: "!ORDER BY"},
		{sql: "UPDATE t SET a = 1 WHERE a = 1 LIMIT 10", want: "!LIMIT"},
		{sql: "DELETE t FROM t JOIN u ON t.a = u.a WHERE u.b = 1", want: "!several tables"},
		{sql: "DELETE FROM t USING t, u WHERE t.a = u.a", want: "!several tables"},
		{sql: "UPDATE t, u SET t.a = 1 WHERE t.a = u.a", want: "!several tables"},
		{sql: "UPDATE t JOIN u USING (a) SET t.b = 1 WHERE t.a = 1", want: "!several tables"},
		{sql: "UPDATE IGNORE t SET a = 1 WHERE b = 1", want: "!IGNORE"},
		{sql: "DELETE LOW_PRIORITY FROM t WHERE b = 1", want: "!LOW_PRIORITY"},
		{sql: "DELETE QUICK FROM t WHERE b = 1", want: "!QUICK"},
		{sql: "UPDATE t AS x SET a = 1 WHERE b = 1", want: "!alias"},
		{sql: "DELETE FROM t PARTITION (p0) WHERE b = 1", want: "!PARTITION"},
		{sql: "WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)", want: "!begins with WITH"},
		{sql: "DELETE FROM t WHERE a = 1 RETURNING a", want: "!parser"},
		{sql: "DELETE FROM t WHERE a = 1; DROP TABLE t", want: "!more than one"},
		{sql: "DELETE FROM t WHERE a IN (SELECT a FROM u)", want: "!subquery"},
		{sql: "UPDATE t SET a = (SELECT MAX(a) FROM u) WHERE b = 1", want: "!subquery"},
		{sql: "INSERT INTO t VALUES (1)", want: "!begins with INSERT"},
		{sql: "DELETE FROM t WHERE a = 'x", want: "!not closed"},
		{sql: "", want: "!empty"},
	} {
		got, err := ddl.ParseRowChangeIn(token.Dialect{ANSIQuotes: c.ansi, Version: 80040}, c.sql)
		if reason, refused := strings.CutPrefix(c.want, "!"); refused {
			if !errors.Is(err, ddl.ErrNotRowChange) || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v, and not a refusal with %q", c.sql, err, reason)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s is read as %v (%v), and not as %s", c.sql, got, err, c.want)
		}
	}
}

func TestRowChangeAssigns(t *testing.T) {
	c, err := ddl.ParseRowChangeIn(token.Dialect{}, "UPDATE t SET t.a = b = 1, `b` = IF(a = 1, 2, 3), c = DEFAULT WHERE TRUE")
	if err != nil {
		t.Fatal(err)
	}
	want := []ddl.Assignment{{"a", "b = 1"}, {"b", "IF(a = 1, 2, 3)"}, {"c", "DEFAULT"}}
	for i, a := range c.Assigned {
		if a != want[i] || a.Default() != (i == 2) {
			t.Errorf("assignment %d is %v, and not %v", i, a, want[i])
		}
	}
	if !c.Same(ddl.Update, "true", "t.a=b=1,  `b`=if(A=1,2,3),c=default") || c.Same(ddl.Update, "TRUE", "a = 1") {
		t.Error("the same statement is not recognized")
	}
}
