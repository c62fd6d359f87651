package sets

import "testing"

// TestL9_ASetThatDoesNotFitNamesTheNextCommand: while a member holds the set up, next is a complete command; without one it is empty.
func TestL9_ASetThatDoesNotFitNamesTheNextCommand(t *testing.T) {
	v := View{ID: "a", State: "checking", Members: []Member{{Server: "s1", State: "planned", Plan: "fit"}}}
	if got := next(&v); got != "" {
		t.Error(got)
	}
	v.Members = append(v.Members, Member{Server: "s2", State: "planned", Plan: "drifted"})
	const want = "fix the tables of these servers, which are planned again every 30s; to leave one out: midstream fleet skip  a --server=s2"
	if got := next(&v); got != want {
		t.Error(got)
	}
}
