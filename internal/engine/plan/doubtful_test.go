package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestL11_DoubtfulColumnsAreRefused: if it is not proven which column continues which, the plan
// refuses, unless the operator declares it for each column that the statement names.
func TestL11_DoubtfulColumnsAreRefused(t *testing.T) {
	table := orders(usual, "PRIMARY: id", "b: b")
	for _, c := range []struct {
		clauses string
		says    map[string]string
		unsure  string // named in the refusal; "" if none
	}{
		{"FROBNICATE b, ADD d INT", nil, "b"},
		{"FROBNICATE `B` TO a", nil, "a, b"},
		{"FROBNICATE b TO a", map[string]string{"b": "a", "a": "b"}, ""},
		{"FROBNICATE b", map[string]string{"b": "b"}, ""},
		{"FROBNICATE b", map[string]string{"z": "b"}, ""},
		{"FROBNICATE b", map[string]string{"b": ""}, ""},
		{"FROBNICATE b, DROP a", map[string]string{"b": "b"}, "a"},
		{"FROBNICATE 'b'", nil, "b"}, // it may be a name
		{"FROBNICATE, ADD d INT", nil, ""},
		{"DROP b COMMENT, ADD b INT", nil, "b"},
		{"ADD d INT /*!80000 , DROP b */", nil, "b"},
		{"CHANGE a b INET6, CHANGE b a UUID", nil, ""}, // the heads leave no doubt
		{"DROP b, ADD b POINT", nil, ""},
	} {
		_, err := Make(good(), table, alter(t, c.clauses), Options{Map: c.says})
		var refused *Refused
		var about []Risk
		if errors.As(err, &refused) {
			about = slices.DeleteFunc(slices.Clone(refused.Blocking), func(r Risk) bool { return r.Code != CodeUnparsed })
		}
		switch {
		case c.unsure == "" && len(about) > 0:
			t.Errorf("%s, %v: %v", c.clauses, c.says, about)
		case c.unsure != "" && (len(about) != 1 || !strings.HasSuffix(about[0].What, "it names "+c.unsure) || !strings.Contains(about[0].Fix, "--map")):
			t.Errorf("%s, %v: %v, %v", c.clauses, c.says, about, err)
		}
	}
}
