package mysqltest

import (
	"slices"
	"strconv"
	"testing"
)

// TestInTurn: as many commits as there are versions give each version its turn once, and "all" gives all.
func TestInTurn(t *testing.T) {
	list := []string{"9.7", "8.0", "5.7"}
	var had []string
	for commit := range list {
		t.Setenv("MIDSTREAM_TEST_TURN", strconv.Itoa(600+commit))
		had = append(had, InTurn(t, list...)...)
	}
	slices.Sort(had)
	if !slices.Equal(had, []string{"5.7", "8.0", "9.7"}) {
		t.Errorf("three commits ran on %v", had)
	}
	t.Setenv("MIDSTREAM_TEST_TURN", "all")
	if got := InTurn(t, list...); !slices.Equal(got, list) {
		t.Errorf("all are %v", got)
	}
}
