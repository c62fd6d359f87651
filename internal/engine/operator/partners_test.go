package operator

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/window"
	"midstream/internal/mysql/schema"
)

// TestL6_PartnersAreHeldAndReleasedTogether: when a table may be changed is the same for all tables of a group, whichever of them a
// command names, also for a control that comes later.
func TestL6_PartnersAreHeldAndReleasedTogether(t *testing.T) {
	t.Parallel()
	var partners Partners
	var all []*Control
	join := func(name string) {
		c := NewControl(CommandLineDefaults())
		c.Table = schema.Name{Schema: "s", Table: name}
		partners.Join(c)
		all = append(all, c)
	}
	are := func(held bool) {
		t.Helper()
		for _, c := range all {
			if got := c.Held(time.Now()) != ""; got != held {
				t.Errorf("%s is held: %v, want %v", c.Table, got, held)
			}
			if began := c.Begin(); began == held && c.run != nil {
				t.Errorf("%s begins an attempt", c.Table)
			} else if began {
				c.End(false)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	join("a")
	join("b")
	must(all[1].Hold(t.Context()))
	join("c")
	are(true)
	_, err := all[2].CutOver(t.Context(), false)
	must(err)
	are(false)
	must(all[0].Set(t.Context(), map[string]string{"hold": "true", "copy-share": "30%"}))
	are(true)
	if all[1].Settings().Rest != 0 {
		t.Error("another table has the copy share of the first")
	}
	must(all[1].Set(t.Context(), map[string]string{"hold": "false"}))
	are(false)

	all[2].paused = &Paused{By: "me"}
	must(all[0].Hold(t.Context()))
	if still, err := all[0].CutOver(t.Context(), false); err != nil || still != "the run on s.c is paused by me: midstream resume  s.c" {
		t.Errorf("%q, %v", still, err)
	}
	all[2].paused = nil

	must(all[0].Set(t.Context(), map[string]string{"cutover-window": closedNow(t)}))
	are(true)
	_, err = all[1].CutOver(t.Context(), true)
	must(err)
	are(false)

	for _, c := range all { // the attempt is the swap
		c.Begin()
		c.swapped = true
		c.End(false)
	}
	var not *NotNow
	if err := all[1].Hold(t.Context()); !errors.As(err, &not) {
		t.Errorf("a hold after the swap: %v", err)
	}
	are(false)
}

// closedNow is a window that does not open for hours.
func closedNow(t *testing.T) string {
	t.Helper()
	at := time.Now().Add(12 * time.Hour)
	text := at.Format("15:04") + "-" + at.Add(time.Minute).Format("15:04")
	if w, err := window.Parse(text); err != nil || w.Open(time.Now()) {
		t.Fatalf("%s: %v", text, err)
	}
	return text
}
