//go:build unix

package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestTheCostOfAQueueIsNotItsLength: a check of an idle queue, and the question what one change
// waits for, cost the same with any number of waiting changes. The list of all costs the same for
// each change. The option file of a server is read for changes that may begin, and not for all that wait.
func TestTheCostOfAQueueIsNotItsLength(t *testing.T) {
	type cost struct {
		idle, one, each float64
		reads           int // of option files
	}
	of := func(waiting int) cost {
		s, reads := full(t, waiting), 0
		s.cfg.Settled = func([]string) error {
			reads++
			return nil
		}
		if err := s.step(context.Background()); err != nil { // the first checks all
			t.Fatal(err)
		}
		last := s.find(fmt.Sprintf("c-%d", waiting))
		return cost{
			idle: testing.AllocsPerRun(10, func() { _ = s.step(context.Background()) }),
			one:  testing.AllocsPerRun(10, func() { s.waitsFor(last) }),
			each: testing.AllocsPerRun(2, func() { s.Changes() }) / float64(waiting), reads: reads,
		}
	}
	few, many := of(50), of(2000)
	if many.idle > few.idle+5 || many.one > few.one+5 || many.each > few.each+5 || many.reads > few.reads+5 {
		t.Errorf("50 changes cost %+v, 2000 cost %+v", few, many)
	}
}

// TestNamesThatDifferInCase: two tables have one key if strings.EqualFold finds their names equal.
func TestNamesThatDifferInCase(t *testing.T) {
	for _, pair := range [][2]string{{"Orders", "oRDERS"}, {"straße", "STRASSE"}, {"ſtore", "STORE"}, {"K", "k"}, {"ǅ", "ǆ"}, {"İ", "i"}, {"Ω", "ω"}, {"é", "É"}} {
		a, b := &entry{Tables: []schema.Name{{Schema: "s", Table: pair[0]}}}, &entry{Tables: []schema.Name{{Schema: "s", Table: pair[1]}}}
		if is, want := a.keys()[0] == b.keys()[0], strings.EqualFold(pair[0], pair[1]); is != want {
			t.Errorf("%q and %q: %t instead of %t", pair[0], pair[1], is, want)
		}
	}
}

// TestANewNumberIsTheLastPlace: a change that is submitted again, because its first submission
// failed, comes after the changes between the two. Numbers only rise.
func TestANewNumberIsTheLastPlace(t *testing.T) {
	b := newBoard()
	for n, id := range []string{"a", "b", "c"} {
		e := &entry{Sequence: uint64(n + 1), Tables: []schema.Name{{Schema: "s", Table: "t"}}}
		e.ID, e.State = id, StateWaiting
		b.set(e)
	}
	withdrawn := *b.find("b")
	withdrawn.State = StateWithdrawn
	b.set(&withdrawn)
	again := withdrawn
	again.State, again.Sequence = StateWaiting, 4
	b.set(&again)
	var ids string
	for _, e := range b.changes {
		ids += e.ID
	}
	if before := b.before(b.find("b")); ids != "acb" || before == nil || before.ID != "a" || b.last != 4 || b.find("c").Sequence != 3 {
		t.Errorf("%s, %+v, %d", ids, before, b.last)
	}
	late := &entry{Sequence: 2}
	late.ID, late.State = "late", StateWithdrawn
	if b.set(late); b.last != 4 {
		t.Errorf("the next would be %d", b.last+1)
	}
}

// TestSomeChanges: a short list of a long queue has the running changes, the next waiting ones and
// the newest that are over, in the order of submission.
func TestSomeChanges(t *testing.T) {
	s := queue(t, file(t, t.TempDir()+"/s.db"))
	add := func(state State, number int) {
		e := &entry{Sequence: uint64(number), Tables: []schema.Name{{Schema: "s", Table: fmt.Sprint(number)}}}
		e.ID, e.State = fmt.Sprintf("%s%d", state[:1], number), state
		s.board.set(e)
	}
	for n := 1; n <= 10; n++ {
		add(StateDone, n)
	}
	add(StateRunning, 11)
	for n := 12; n <= 20; n++ {
		add(StateWaiting, n)
	}
	for most, want := range map[int]string{1: "r11", 2: "d10 r11", 5: "d9 d10 r11 w12 w13", 7: "d8 d9 d10 r11 w12 w13 w14",
		19: "d2 d3 d4 d5 d6 d7 d8 d9 d10 r11 w12 w13 w14 w15 w16 w17 w18 w19 w20"} {
		var ids []string
		for _, c := range s.Some(most) {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%d: %s instead of %s", most, got, want)
		}
	}
	var list []Change
	if call(t, s, "GET", "/v1/changes?most=3", nil, &list); len(list) != 3 {
		t.Errorf("%+v", list)
	}
	if call(t, s, "GET", "/v1/changes", nil, &list); len(list) != 20 {
		t.Errorf("%d changes", len(list))
	}
}
