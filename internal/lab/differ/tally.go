package differ

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts verdicts.
type tally struct {
	mu     sync.Mutex
	counts map[Outcome]int
	kinds  map[string]int
	cases  map[string][]int // the first of each kind
}

// most is how many cases of a kind are reported.
const most = 3

// count counts a verdict and says whether it is to be reported.
func (t *tally) count(v Verdict, n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.kinds, t.cases = map[Outcome]int{}, map[string]int{}, map[string][]int{}
	}
	kind := string(v.Outcome) + ": " + v.Kind
	t.counts[v.Outcome]++
	t.kinds[kind]++
	if len(t.cases[kind]) < 12 {
		t.cases[kind] = append(t.cases[kind], n)
	}
	return t.kinds[kind] <= most
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	all := 0
	for _, n := range t.counts {
		all += n
	}
	fmt.Fprintf(&b, "%d cases", all)
	for _, o := range []Outcome{Equal, Respelled, Both, OnlyUs, Decided, OnlyDone, Wrong, Invalid} {
		fmt.Fprintf(&b, ", %d %s", t.counts[o], o)
	}
	if can := t.counts[Equal] + t.counts[Respelled] + t.counts[OnlyUs] + t.counts[Decided] + t.counts[Wrong]; can > 0 {
		share := func(n int) float64 { return 100 * float64(n) / float64(can) }
		fmt.Fprintf(&b, "; of %d that the server can alter, %.1f %% are refused, and %.1f %% by decision",
			can, share(t.counts[OnlyUs]), share(t.counts[Decided]))
	}
	kinds := slices.SortedFunc(maps.Keys(t.kinds), func(a, b string) int { return t.kinds[b] - t.kinds[a] })
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n  %5d  %.150s  %v", t.kinds[k], k, t.cases[k])
	}
	return b.String()
}
