package trigger

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The set holds what a plain set holds, in as few runs as possible.
func TestRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var r runs
	plain := map[uint64]bool{}
	for range 20_000 {
		n := 1 + random.Uint64N(60)
		if random.IntN(2) == 0 {
			r.add(n)
			plain[n] = true
		} else {
			r.remove(n)
			delete(plain, n)
		}
		for n := range uint64(62) {
			if r.has(n) != plain[n] {
				t.Fatalf("%d in %v: %t", n, r, r.has(n))
			}
		}
		for i := 1; i < len(r); i++ {
			if r[i-1].to+1 >= r[i].from {
				t.Fatalf("%v: not the fewest runs in their order", r)
			}
		}
	}
}

func TestOthers(t *testing.T) {
	for _, c := range []struct {
		r    runs
		last uint64
		want string
	}{
		{nil, 9, "(id BETWEEN 0 AND 9)"},
		{runs{{1, 9}}, 9, "(id BETWEEN 0 AND 0)"},
		{runs{{0, 9}}, 9, "FALSE"},
		{runs{{3, 5}, {7, 7}}, 9, "(id BETWEEN 0 AND 2 OR id BETWEEN 6 AND 6 OR id BETWEEN 8 AND 9)"},
	} {
		if got := c.r.others("id", c.last); got != c.want {
			t.Errorf("others than %v up to %d: %s, want %s", c.r, c.last, got, c.want)
		}
	}
	var many runs
	for n := uint64(2); n < 2000; n += 2 {
		many.add(n)
	}
	if got := many.others("id", 1999); strings.Count(got, "BETWEEN") != mostGaps+1 || !strings.HasSuffix(got, "BETWEEN 201 AND 1999)") {
		t.Errorf("many gaps: %s", got)
	}
}
