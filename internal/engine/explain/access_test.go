package explain

import "testing"

// TestWorse: a worse access type, a lost index and a tenfold cost are reported. A better plan and a cheap one are not.
func TestWorse(t *testing.T) {
	of := func(kind, key string, cost float64) explained { return explained{cost, []access{{kind, key}}} }
	for _, c := range []struct {
		before, after explained
		want          string
	}{
		{of("ref", "a", 1), of("ALL", "", 100), "reads all rows, and before ref by index a"},
		{of("ALL", "", 100), of("ref", "a", 1), ""},
		{of("ref", "a", 5), of("ref", "b", 5), "ref by index b, and before ref by index a"},
		{of("index", "a", 5), of("index", "b", 5), ""},
		{of("index", "a", 5), of("index", "b", 51), "its cost is 51, and before 5"},
		{of("ref", "a", 5), of("ref", "a", 49), ""},
		{of("ref", "a", 5), of("ref", "a", 51), "its cost is 51, and before 5"},
		{of("ref", "a", 0.1), of("ref", "a", 2), ""},
		{of("const", "PRIMARY", 1), of("index", "b", 3), "reads all of index b, and before const by index PRIMARY"},
		{of("ref", "a", 5), of("new_kind", "a", 5), ""},
		{explained{}, of("ALL", "", 5), ""},
	} {
		if got := worse(c.before, c.after); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.before, c.after, got, c.want)
		}
	}
	e, err := parsed(`{"query_block":{"cost_info":{"query_cost":"7.50"},"nested_loop":[{"table":{"table_name":"o","access_type":"ref","key":"a"}},`+
		`{"table":{"table_name":"x","access_type":"ALL"}},{"table":{"table_name":"O","access_type":"range","key":"b"}}]}}`, []string{"o"})
	if err != nil || e.cost != 7.5 || len(e.tables) != 2 || e.worst() != (access{"range", "b"}) {
		t.Errorf("%+v, %v", e, err)
	}
}
