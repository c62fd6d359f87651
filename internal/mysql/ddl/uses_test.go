package ddl_test

import (
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestUsesColumn(t *testing.T) {
	table := schema.Name{Schema: "shop", Table: "t"}
	for _, c := range []struct {
		text, mode, database string
		want                 ddl.Use
	}{
		{"select `shop`.`t`.`a` AS `b` from `shop`.`t`", "", "far", ddl.Uses},
		{"select `x`.`a` AS `b` from `shop`.`t` `x`", "", "far", ddl.Uses},
		{"select `y`.`a` AS `b` from (`shop`.`t` `x` join `far`.`k` `y`)", "", "far", ddl.Unused},
		{"select `x`.`b` AS `a` from `shop`.`t` `x`", "", "far", ddl.Unused},
		{"select `far`.`t`.`a` AS `a` from `far`.`t`", "", "far", ddl.Unused},
		{"select a from t", "", "shop", ddl.Uses},
		{"select a from t", "", "far", ddl.Unused},
		{`select "a" from "t"`, "ANSI_QUOTES", "shop", ddl.Uses},
		{"select a from t join far.k using (id)", "", "shop", ddl.MayUse},
		{"update t set A = 1", "", "shop", ddl.Uses},
		{"insert into t (id, a) values (1, 2)", "", "shop", ddl.Uses},
		{"delete from t where id in (select a from k)", "", "shop", ddl.MayUse},
		{"BEGIN DECLARE done INT; UPDATE t SET a = 1; END", "", "shop", ddl.MayUse},
		{"BEGIN DECLARE EXIT HANDLER FOR 1062 SIGNAL SQLSTATE '45000'; RETURN (SELECT MAX(a) FROM t); END", "", "shop", ddl.MayUse},
		{"BEGIN RETURN (SELECT MAX(b) FROM t); END", "", "shop", ddl.Unused},
		{"select 'a' from t", "", "shop", ddl.Unused},
	} {
		if got := ddl.UsesColumn(c.text, c.mode, c.database, table, "a"); got != c.want {
			t.Errorf("%s: %d, want %d", c.text, got, c.want)
		}
	}
}
