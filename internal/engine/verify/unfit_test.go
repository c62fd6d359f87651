package verify

import (
	"errors"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// TestU4_AnUnfitRowIsNoMismatch: an undo finds rows that the old table lacks, and syncs them again. Of a row that is unfit, or whose
// sync is still to come, it prints neither a mismatch nor a repair. Without unfit rows, which is in each change, both count.
func TestU4_AnUnfitRowIsNoMismatch(t *testing.T) {
	codec, err := key.NewCodec([]key.Part{{Column: schema.Column{Name: "id", DataType: "int", Type: "int"}}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []key.Key
	var differences []Difference
	for _, id := range []string{"1", "2", "3"} {
		k, err := codec.FromText([][]byte{[]byte(id)})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
		differences = append(differences, Difference{Key: codec.Format(k), Expected: present, Found: missing})
	}
	spec := &Spec{Sync: &rowsync.Spec{Key: codec}}
	unfit := rowsync.NewUnfit(func(rowsync.UnfitRow) {})
	unfit.Put(keys[0], errors.New("no value"))
	undo, change := New(Config{}, Deps{Spec: spec, Unfit: unfit}), New(Config{}, Deps{Spec: spec})
	left := keys[1:2]
	if told := undo.Fit(differences, left); len(told) != 1 || told[0].Key != codec.Format(keys[2]) {
		t.Errorf("the undo prints %v", told)
	}
	if n := undo.Repaired(keys, left); n != 1 {
		t.Errorf("the undo has repaired %d rows", n)
	}
	if told := change.Fit(differences, left); len(told) != 3 {
		t.Errorf("the change prints %v", told)
	}
	if n := change.Repaired(keys, left); n != 3 {
		t.Errorf("the change has repaired %d rows", n)
	}
}
