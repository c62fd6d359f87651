package checkpoint_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/schema"
)

// FuzzCheckpoint: whatever the state table contains, reading it ends in an error or in a row copy
// that continues where it must.
func FuzzCheckpoint(f *testing.F) {
	seed := func(c checkpoint.Checkpoint) {
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	low, high := []byte("\x80\x00\x00\x00\x00\x00\x00\x01"), []byte("\x80\x00\x00\x00\x00\x00\x00\x09")
	seed(checkpoint.Checkpoint{Version: checkpoint.Version, Phase: "copy", Position: "binlog.000001:4"})
	seed(checkpoint.Checkpoint{Copied: []checkpoint.Range{{To: low}, {From: low, To: high}}, Position: "a:b:18446744073709551615"})
	seed(checkpoint.Checkpoint{Copied: []checkpoint.Range{{From: high, To: low}, {}}, Position: "x"})
	seed(checkpoint.Checkpoint{Copied: []checkpoint.Range{{From: low[:3], To: high}}, ServerUUID: "x"})
	f.Add(`{"Copied":[{"From":"gA==","To":null}]}`)
	f.Add(`{"Copied":null,"Position":":4"}`)
	codec, err := key.NewCodec([]key.Part{{Column: schema.Column{Name: "id", DataType: "bigint", Type: "bigint"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c checkpoint.Checkpoint
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		if p, err := binlog.ParsePosition(c.Position); err == nil && p.String() != c.Position && c.Position != "" {
			if again, err := binlog.ParsePosition(p.String()); err != nil || again != p {
				t.Fatalf("position %q is read as %v, and that as %v", c.Position, p, again)
			}
		}
		ranges := checkpoint.KeyRanges(c.Copied)
		if back := checkpoint.KeyRanges(checkpoint.Ranges(ranges)); !reflect.DeepEqual(back, ranges) {
			t.Fatalf("ranges %v come back as %v", ranges, back)
		}
		for _, r := range ranges {
			for _, bound := range []key.Key{r.From, r.To} {
				if bound != "" && codec.Check(bound) != nil {
					return // it must be refused
				}
			}
		}
		goesOn(t, codec, ranges)
	})
}

// goesOn copies the gaps between the ranges.
func goesOn(t *testing.T, codec *key.Codec, ranges []key.Range) {
	tracker, err := frontier.Resume(codec, ranges)
	if err != nil {
		if !errors.Is(err, frontier.ErrRanges) {
			t.Fatal(err)
		}
		return
	}
	for range len(ranges) + 2 {
		rest, more := tracker.Next()
		if !more {
			break
		}
		tracker.End(tracker.Begin(rest.To))
	}
	copied, end := tracker.Copied(), key.Key("")
	for i, r := range copied {
		if r.From != end || r.To == "" && i < len(copied)-1 {
			t.Fatalf("from %v, what is copied in the end has a gap: %v", ranges, copied)
		}
		end = r.To
	}
	if !tracker.Complete() || end != "" {
		t.Fatalf("from %v, what is copied in the end is %v", ranges, copied)
	}
}
