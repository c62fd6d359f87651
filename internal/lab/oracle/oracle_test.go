package oracle

import "testing"

// The stored text of a CHECK has names in backticks or not, as the session had sql_quote_show_create.
func TestChecksHaveOneOrderHoweverNamesAreSpelled(t *testing.T) {
	const begin, end = "CREATE TABLE (\n  `a` int,\n", "\n) ENGINE=InnoDB"
	a := sorted(begin + "  CHECK ((`c2` < 1)),\n  CHECK ((`x\\y` < 1))" + end)
	b := sorted(begin + "  CHECK ((`x\\y` < 1)),\n  CHECK ((c2 < 1))" + end)
	if Plainer(a) != Plainer(b) {
		t.Errorf("the definitions differ:\n%s\n%s", a, b)
	}
	if c := sorted(begin + "  CHECK ((c2 < 2)),\n  CHECK ((`x\\y` < 1))" + end); Plainer(a) == Plainer(c) {
		t.Error("definitions that differ are the same")
	}
}
