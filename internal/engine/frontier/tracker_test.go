package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/key"
)

// letters compares keys of one letter; capitals are keys that the client can't compare with others.
type letters struct{}

func (letters) Compare(a, b key.Key) (int, bool) {
	if a == b {
		return 0, true
	}
	known := strings.ToLower(string(a)) == string(a) && strings.ToLower(string(b)) == string(b)
	return strings.Compare(strings.ToLower(string(a)), strings.ToLower(string(b))), known
}

func place(t *testing.T, tracker *Tracker, k key.Key, want Place) {
	t.Helper()
	if got := tracker.Place(k); got != want {
		t.Errorf("key %s is placed at %+v, want %+v", k, got, want)
	}
}

func TestL4_KeysAtAndAboveTheFrontierAreAhead(t *testing.T) {
	tracker := New(letters{})
	place(t, tracker, "a", Place{Ahead: true})
	place(t, tracker, "K", Place{Ahead: true})
	tracker.End(tracker.Begin("m"))
	place(t, tracker, "l", Place{})
	place(t, tracker, "m", Place{Ahead: true})
	place(t, tracker, "z", Place{Ahead: true})
	place(t, tracker, "Z", Place{MayBeAhead: true}) // it may be below
	tracker.Begin("")
	place(t, tracker, "z", Place{Barrier: 2})
	if tracker.Complete() {
		t.Error("complete while a chunk is in flight")
	}
}

func TestL2_KeysWaitForTheChunksThatMayHoldThem(t *testing.T) {
	tracker := New(letters{})
	first, second, third := tracker.Begin("f"), tracker.Begin("m"), tracker.Begin("s")
	place(t, tracker, "e", Place{Barrier: 1})
	place(t, tracker, "f", Place{Barrier: 2})
	place(t, tracker, "r", Place{Barrier: 3})
	place(t, tracker, "A", Place{MayBeAhead: true, Barrier: 3})
	tracker.End(second)
	place(t, tracker, "f", Place{})
	if got := tracker.OldestInFlight(); got != 1 {
		t.Errorf("the oldest chunk in flight is %d, want 1", got)
	}
	tracker.End(first)
	tracker.End(third)
	place(t, tracker, "A", Place{MayBeAhead: true})
	if got := tracker.OldestInFlight(); got != 4 {
		t.Errorf("nothing is in flight and the oldest is %d, want 4, the next", got)
	}
}

func TestL5_OnlyCommittedRangesAreCopied(t *testing.T) {
	tracker := New(letters{})
	first, second, third := tracker.Begin("f"), tracker.Begin("m"), tracker.Begin("s")
	copied := func(want ...key.Range) {
		t.Helper()
		if got := tracker.Copied(); !slices.Equal(got, want) {
			t.Errorf("copied are %v, want %v", got, want)
		}
	}
	copied()
	tracker.End(third)
	copied(key.Range{From: "m", To: "s"})
	tracker.End(first)
	copied(key.Range{To: "f"}, key.Range{From: "m", To: "s"})
	tracker.End(second)
	copied(key.Range{To: "s"})
	tracker.End(tracker.Begin(""))
	copied(key.Range{})
}

func TestResumeHandsOutTheGapsInOrder(t *testing.T) {
	tracker, err := Resume(letters{}, []key.Range{{From: "c", To: "f"}, {From: "m", To: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	place(t, tracker, "b", Place{Ahead: true})
	place(t, tracker, "d", Place{})
	place(t, tracker, "g", Place{Ahead: true})
	place(t, tracker, "s", Place{Ahead: true})
	place(t, tracker, "G", Place{MayBeAhead: true}) // copied, or a chunk may delete it

	var handed []string
	for {
		rest, more := tracker.Next()
		if !more {
			break
		}
		to := key.Key("")
		if rest.From == "f" {
			to = "h"
		}
		c := tracker.Begin(to)
		handed = append(handed, fmt.Sprintf("%s-%s", c.Range.From, c.Range.To))
		if c.Number%2 == 0 {
			tracker.End(c)
		}
	}
	if got := strings.Join(handed, " "); got != "-c f-h h-m s-" {
		t.Errorf("handed out: %s", got)
	}
	place(t, tracker, "b", Place{Barrier: 1})
	place(t, tracker, "g", Place{})
	place(t, tracker, "k", Place{Barrier: 3})
	place(t, tracker, "e", Place{})
	if got, want := tracker.Copied(), []key.Range{{From: "c", To: "h"}, {From: "m"}}; !slices.Equal(got, want) {
		t.Errorf("copied are %v, want %v", got, want)
	}
}

func TestResumeOfNothingAndOfAll(t *testing.T) {
	fresh, err := Resume(letters{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	place(t, fresh, "a", Place{Ahead: true})
	if rest, more := fresh.Next(); !more || rest != (key.Range{}) {
		t.Errorf("what is left of nothing copied is %v, %v", rest, more)
	}
	done, err := Resume(letters{}, []key.Range{{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, more := done.Next(); more || !done.Complete() {
		t.Error("something is left of all copied")
	}
	place(t, done, "a", Place{})
}

func TestResumeRefusesRangesThatContradict(t *testing.T) {
	for _, ranges := range [][]key.Range{
		{{}, {From: "a"}},
		{{To: "f"}, {To: "m"}},
		{{To: "f"}, {From: "c", To: "m"}},
		{{From: "m", To: "f"}},
		{{From: "m"}, {From: "s", To: "t"}},
	} {
		if _, err := Resume(letters{}, ranges); err == nil {
			t.Errorf("%v was taken", ranges)
		}
	}
	if _, err := Resume(letters{}, []key.Range{{From: "M", To: "f"}}); err != nil {
		t.Errorf("ranges that can't be compared were refused: %v", err)
	}
}

// Chunks begin and end at random, with a resume now and then. At any time every key is where the
// chunks put it, and the copied ranges are the ranges that ended.
func TestPlaceFollowsTheChunks(t *testing.T) {
	const from, to = 'a', 'z' + 1
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		tracker := New(letters{})
		var copied, begun [to]bool
		var flight []Chunk
		for !tracker.Complete() {
			rest, more := tracker.Next()
			switch {
			case r.IntN(20) == 0:
				var err error
				if tracker, err = Resume(letters{}, tracker.Copied()); err != nil {
					t.Fatal(err)
				}
				flight, begun = nil, copied
			case more && r.IntN(2) == 0:
				bound := key.Key("")
				least, most := bounds(rest)
				if n := most - least; n > 1 && r.IntN(5) > 0 {
					bound = key.Key(rune(least + 1 + r.IntN(n-1)))
				}
				c := tracker.Begin(bound)
				flight = append(flight, c)
				each(c.Range, func(k int) {
					if begun[k] {
						t.Fatalf("seed %d: key %c is handed out twice", seed, k)
					}
					begun[k] = true
				})
			case len(flight) > 0:
				i := r.IntN(len(flight))
				tracker.End(flight[i])
				each(flight[i].Range, func(k int) { copied[k] = true })
				flight = append(flight[:i:i], flight[i+1:]...)
			}
			for k := int(from); k < to; k++ {
				want := Place{Ahead: !begun[k]}
				for _, c := range flight {
					if least, most := bounds(c.Range); least <= k && k < most {
						want.Barrier = c.Number
					}
				}
				place(t, tracker, key.Key(rune(k)), want)
			}
			var claimed [to]bool
			for _, c := range tracker.Copied() {
				each(c, func(k int) { claimed[k] = true })
			}
			if claimed != copied {
				t.Errorf("copied are %v", tracker.Copied())
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// bounds of a range of letters.
func bounds(r key.Range) (from, to int) {
	from, to = 'a', 'z'+1
	if r.From != "" {
		from = int(r.From[0])
	}
	if r.To != "" {
		to = int(r.To[0])
	}
	return from, to
}

func each(r key.Range, do func(k int)) {
	from, to := bounds(r)
	for k := from; k < to; k++ {
		do(k)
	}
}
