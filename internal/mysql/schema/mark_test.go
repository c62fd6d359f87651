package schema

import "testing"

// TestL8_FormerSourceIsNoArtefact: whatever its comment was, it is not removed with what a
// run created.
func TestL8_FormerSourceIsNoArtefact(t *testing.T) {
	source := Name{"shop", "orders"}
	for comment, want := range map[string]bool{
		MarkFor("shadow", source): true, MarkFor("state", source): true,
		MarkOld(source, ""): false, MarkDropped(source, ""): false, MarkFor("dropped", source): false, MarkOld(source, "all of shop.orders"): false, MarkFor("old", source): false,
		MarkFor("shadow", Name{"shop", "x of shop.orders"}): false, "all of shop.orders": false, "": false,
	} {
		if got := MarkedFor(comment, source); got != want {
			t.Errorf("%q: %t", comment, got)
		}
	}
}
