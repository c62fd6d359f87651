package checkpoint

import "midstream/internal/key"

// Version of the format below; another one is not read.
const Version = 1

// Checkpoint is how far a run has come.
type Checkpoint struct {
	Version int
	Plan    string // hash of the plan
	Phase   string
	// Copied are the ranges whose rows are committed in the shadow.
	Copied []Range
	// Position is the place in the binlog from which capture must go on: every change
	// before it is in the shadow, or lies ahead of the row copy.
	Position string
	// ServerUUID names the server whose binlog Position is of.
	ServerUUID string
}

// Range is a key.Range whose bounds are bytes, so that JSON keeps them.
type Range struct {
	From []byte
	To   []byte
}

// Ranges turns ranges into their stored form, in their order.
func Ranges(ranges []key.Range) []Range {
	out := make([]Range, len(ranges))
	for i, r := range ranges {
		out[i] = Range{From: []byte(r.From), To: []byte(r.To)}
	}
	return out
}

// KeyRanges is the inverse of Ranges.
func KeyRanges(ranges []Range) []key.Range {
	out := make([]key.Range, len(ranges))
	for i, r := range ranges {
		out[i] = key.Range{From: key.Key(r.From), To: key.Key(r.To)}
	}
	return out
}
