package desired

import "testing"

// TestAlike: an expression as MySQL shows it and as MariaDB does is one, and expressions of different meaning stay apart.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"((`a` + `b`) * 2)", "(`a` + `b`) * 2", true},
		{"((`a` + `b`) * 2)", "`a` + `b` * 2", false},
		{"((`a` - `b`) - `c`)", "`a` - `b` - `c`", true},
		{"(`a` - (`b` - `c`))", "`a` - `b` - `c`", false},
		{"((`a` = 1) or ((`b` = 2) and (`c` = 3)))", "`a` = 1 or `b` = 2 and `c` = 3", true},
		{"(((`a` = 1) or (`b` = 2)) and (`c` = 3))", "`a` = 1 or `b` = 2 and `c` = 3", false},
		{"(not (`a` = 1))", "not `a` = 1", true},
		{"((not `a`) = 1)", "not `a` = 1", false},
		{"(`a` not in (1,2))", "`a` not in (1,2)", true},
		{"(`a` in (1,2))", "`a` not in (1,2)", false},
		{"(`a` between 1 and (2 + `b`))", "`a` between 1 and 2 + `b`", true},
		{"(`s` like _utf8mb4'a%')", "`s` like 'a%'", true},
		{"(`s` = _utf8mb4'a')", "`s` = 'A'", false},
		{"(`s` = _latin1'a')", "`s` = 'a'", false},
		{"(`s` = x'41')", "`s` = 'A'", false},
		{"lower(`s`)", "lcase(`s`)", true},
		{"lower(`s`)", "upper(`s`)", false},
		{"concat(`a`,`b`)", "concat(`b`,`a`)", false},
		{"(`a` > 1.5)", "`a` > 1.5", true},
		{"(`a` > 1.5)", "`a` > 15", false},
		{"(`a` is null)", "`a` is not null", false},
		{"(case when (`a` = 1) then 2 else 3 end)", "case when `a` = 1 then 2 else 3 end", true},
		{"(case when (`a` = 1) then 2 end)", "case `a` when 1 then 2 end", false},
		{"(`A` = 1)", "`a` = 1", false}, // the servers ignore the case of columns; a difference more is no harm
		{"(`s` collate utf8mb4_bin)", "`s`", false},
		{"cast(`a` as signed)", "cast(`a` as unsigned)", false},
		{"-(1)", "-1", true},
		{"(`a` || `b`)", "`a` or `b`", false}, // it may join texts
	} {
		if one, other := alike(c.one), alike(c.other); (one == other) != c.same {
			t.Errorf("%s: %s\n%s: %s", c.one, one, c.other, other)
		}
	}
}
