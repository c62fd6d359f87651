package mysqltest

import (
	"flag"
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

// TestHalfInTurn: eight commits have each point on each of two and of four versions, and "all" has
// each point.
func TestHalfInTurn(t *testing.T) {
	points := []int{1, 2, 3}
	for _, versions := range [][]string{{"9.7", "8.0"}, {"9.7", "8.0", "5.7", "mariadb-10.11"}} {
		had := map[string]bool{}
		for commit := range 8 {
			t.Setenv("MIDSTREAM_TEST_TURN", strconv.Itoa(601+commit))
			for _, point := range HalfInTurn(t, points...) {
				had[InTurn(t, versions...)[0]+strconv.Itoa(point)] = true
			}
		}
		if len(had) != len(versions)*len(points) {
			t.Errorf("eight commits had %v", had)
		}
	}
	t.Setenv("MIDSTREAM_TEST_TURN", "all")
	if got := HalfInTurn(t, points...); !slices.Equal(got, points) {
		t.Errorf("all are %v", got)
	}
}

// TestSeldom: of a hundred commits, a slow test runs on about twelve, and on each with "all".
func TestSeldom(t *testing.T) {
	chosen := flag.Lookup("test.run").Value
	was := chosen.String()
	defer func() {
		if err := chosen.Set(was); err != nil {
			t.Error(err)
		}
	}()
	run := func(pattern, turn string) (ran bool) {
		t.Setenv("MIDSTREAM_TEST_TURN", turn)
		if err := chosen.Set(pattern); err != nil {
			t.Fatal(err)
		}
		s := &skipping{TB: t, name: "TestX"}
		Seldom(s)
		return !s.skipped
	}
	ran := 0
	for commit := range 100 {
		if run("", strconv.Itoa(600+commit)) {
			ran++
		}
		if !run("TestX", strconv.Itoa(600+commit)) {
			t.Errorf("commit %d skips a test that was chosen", commit)
		}
	}
	if ran < 5 || ran > 22 || !run("", "all") {
		t.Errorf("it ran on %d of 100 commits", ran)
	}
}

// skipping is a test that notes whether it is skipped.
type skipping struct {
	testing.TB
	name    string
	skipped bool
}

func (s *skipping) Name() string { return s.name }

func (s *skipping) Skip(...any) { s.skipped = true }
