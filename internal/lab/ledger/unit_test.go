package ledger

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogramPercentiles(t *testing.T) {
	var h, other Histogram
	var all []time.Duration
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		d := time.Duration(rng.ExpFloat64() * float64(3*time.Millisecond))
		all = append(all, d)
		if i%2 == 0 {
			h.Add(d)
		} else {
			other.Add(d)
		}
	}
	h.Merge(&other)
	slices.Sort(all)
	for _, p := range []float64{1, 50, 90, 99, 99.9, 100} {
		want := all[int(p/100*float64(len(all)-1))]
		got := h.Percentile(p)
		if got < want-time.Microsecond || got > want*17/16+2*time.Microsecond {
			t.Errorf("%v %%: %v instead of %v", p, got, want)
		}
	}
	if h.Count() != 20_000 || new(Histogram).Percentile(50) != 0 {
		t.Error("wrong count")
	}
}

func TestHistogramBucketsHoldTheirValues(t *testing.T) {
	for us := range uint64(1 << 16) {
		b := bucket(us)
		if us > bucketEnd(b) || b > 0 && us <= bucketEnd(b-1) {
			t.Fatalf("%d us in bucket %d, which ends at %d", us, b, bucketEnd(b))
		}
	}
	if bucket(1<<62) != len(Histogram{}.counts)-1 {
		t.Error("the last bucket does not hold the rest")
	}
}

// TestBookMap: every slot has one owner, hot rows are as many as asked for, and every
// writer has rows and room.
func TestBookMap(t *testing.T) {
	layout, err := newLayout(Int())
	must(t, err)
	for _, rows := range []int{0, 1, 3, 100, 3000, 1_000_000} {
		for _, writers := range []int{1, 4, 8} {
			b := newBook(layout, Options{Writers: writers}.WithDefaults(), rows)
			for w := range writers {
				a := newArea(b, owner(w))
				if a.slots() == 0 || a.present == a.slots() {
					t.Errorf("%d rows: writer %d of %d has %d slots, %d rows", rows, w, writers, a.slots(), a.present)
				}
			}
			if rows >= 3000 && len(b.hotRows) < 18 {
				t.Errorf("%d rows: %d hot rows", rows, len(b.hotRows))
			}
			for _, slot := range b.hotRows {
				if b.owner(slot) != hot {
					t.Errorf("hot row %d is of %d", slot, b.owner(slot))
				}
			}
		}
	}
}

func TestDerivedTexts(t *testing.T) {
	for got, want := range map[string]string{
		string(appendDecimal(nil, -5, 2)):                "-0.05",
		string(appendDecimal(nil, 1234567, 6)):           "1.234567",
		string(appendDecimal(nil, -7, 0)):                "-7",
		string(appendTime(nil, 0, 0, 7)):                 "2001-01-01 00:00:00.000007",
		string(appendTime(nil, 28*12, 86_399, 123456)):   "2002-01-01 23:59:59.123456",
		string(appendHex32(nil, 0xdeadbeef)):             "DEADBEEF",
		string(appendHex(nil, []byte{0, 255})):           "00FF",
		string(appendQuoted(nil, []byte("a'b\\c\x00d"))): `'a\'b\\c\0d'`,
	} {
		if got != want {
			t.Errorf("got %s instead of %s", got, want)
		}
	}
}

func TestScatterIsAPermutation(t *testing.T) {
	seen := map[uint32]bool{}
	for n := range uint32(1 << 18) {
		seen[scatter(n*16_411)] = true
	}
	if len(seen) != 1<<18 {
		t.Errorf("%d different numbers", len(seen))
	}
}

func TestGate(t *testing.T) {
	var g gate
	stop := make(chan struct{})
	if !g.enter(stop) || g.quiet() {
		t.Fatal("an open gate does not let in")
	}
	closed := make(chan error)
	go func() { closed <- g.close(t.Context()) }()
	select {
	case <-closed:
		t.Fatal("closed with somebody inside")
	case <-time.After(10 * time.Millisecond):
	}
	g.leave()
	must(t, <-closed)
	if !g.quiet() {
		t.Error("not quiet")
	}
	entered := make(chan bool)
	go func() { entered <- g.enter(stop) }()
	g.open()
	if !<-entered {
		t.Error("an opened gate does not let in")
	}
	must(t, errors.Join(g.leaveAndClose(t), g.close(t.Context())))
	close(stop)
	if g.enter(stop) {
		t.Error("entered a closed gate")
	}
}

func (g *gate) leaveAndClose(t *testing.T) error {
	g.leave()
	return g.close(t.Context())
}

func TestOptionsAreChecked(t *testing.T) {
	number := func(error) uint16 { return 0 }
	for name, opts := range map[string]Options{
		"no Number":         {},
		"share too big":     {Number: number, HotShare: 91},
		"unknown operation": {Number: number, Mix: map[Op]int{"truncate": 1}},
		"no operation":      {Number: number, Mix: map[Op]int{OpInsert: 0}},
	} {
		if _, err := New(nil, "a.b", Int(), opts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p := Int()
	p.Key = []string{"name"}
	if _, err := New(nil, "a.b", p, Options{Number: number}); err == nil {
		t.Error("a plain column as a key: no error")
	}
}

func TestStatsKeepTheLongest(t *testing.T) {
	m := newMeter(time.Now())
	for i := range 100 {
		m.end("update", time.Now().Add(-time.Duration(i*37%100)*time.Millisecond), "UPDATE", 0, nil)
	}
	sum := newMeter(m.stats.Since).stats
	m.addTo(&sum)
	if len(sum.Longest) != longestKept || sum.Max().Round(time.Millisecond) != 99*time.Millisecond {
		t.Errorf("%d kept, longest %v", len(sum.Longest), sum.Max())
	}
	if !slices.IsSortedFunc(sum.Longest, func(a, b Wait) int { return int(b.Took - a.Took) }) {
		t.Error("not in order")
	}
	if sum.Statements != 100 || sum.ByKind["update"].Count != 100 || len(sum.Series) != 1 {
		t.Errorf("%+v", sum)
	}
}
