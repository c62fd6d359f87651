package plan

import (
	"strings"
	"testing"

	"midstream/internal/schema"
)

// replicaFacts are those of a replica that is fit to read changes from.
func replicaFacts() *CaptureFacts {
	return &CaptureFacts{Address: "r1:3306", UUID: "r", Version: Version{Major: 9, Minor: 7, Patch: 4}, LogBin: true, LogReplicaUpdates: true,
		BinlogFormat: "ROW", RowImage: "FULL", Workers: 4, PreservesOrder: true, ExecMode: "STRICT", SkipErrors: "OFF",
		Channels: []Channel{{Name: "other", SourceUUID: "x", DatabaseFilters: true}, {SourceUUID: "s", Running: true}}}
}

// TestL6_CaptureFaults: what a replica's binlog may leave out, or tell in another order, is seen.
func TestL6_CaptureFaults(t *testing.T) {
	source := schema.Name{Schema: "shop", Table: "orders"}
	names := append([]schema.Name{source}, NamesOf(source).All()...)
	for _, c := range []struct {
		name  string
		spoil func(f *CaptureFacts)
		want  string // "" for none
	}{
		{"fit", func(f *CaptureFacts) {}, ""},
		{"one worker", func(f *CaptureFacts) { f.Workers, f.PreservesOrder = 1, false }, ""},
		{"the source", func(f *CaptureFacts) { f.UUID = "s" }, "the source itself"},
		{"another's replica", func(f *CaptureFacts) { f.Channels = f.Channels[:1] }, "does not replicate from the source"},
		{"silent", func(f *CaptureFacts) { f.LogReplicaUpdates = false }, "doesn't log"},
		{"no binlog", func(f *CaptureFacts) { f.LogBin = false }, "doesn't log"},
		{"statements", func(f *CaptureFacts) { f.BinlogFormat = "MIXED" }, "binlog_format is MIXED"},
		{"out of order", func(f *CaptureFacts) { f.PreservesOrder = false }, "not in the source's order"},
		{"idempotent", func(f *CaptureFacts) { f.ExecMode = "IDEMPOTENT" }, "passes over errors"},
		{"skips", func(f *CaptureFacts) { f.SkipErrors = "1062" }, "passes over errors"},
		{"binlog filter", func(f *CaptureFacts) { f.BinlogDoDB = []string{"other"} }, "leaves out schema shop"},
		{"database filter", func(f *CaptureFacts) { f.Channels[1].DatabaseFilters = true }, "filters by database"},
		{"do another table", func(f *CaptureFacts) { f.Channels[1].Tables.Do = []string{"shop.orders"} }, "leave out shop.orders_shadow"},
		{"do all of them", func(f *CaptureFacts) { f.Channels[1].Tables.WildDo = []string{"shop.orders%"} }, ""},
		{"ignore it", func(f *CaptureFacts) { f.Channels[1].Tables.Ignore = []string{"shop.orders"} }, "leave out shop.orders"},
		{"ignore the artefacts", func(f *CaptureFacts) { f.Channels[1].Tables.WildIgnore = []string{"%._midstream", `shop.%\_midstream`} }, "leave out shop.orders_midstream"},
		{"ignore another", func(f *CaptureFacts) { f.Channels[1].Tables.WildIgnore = []string{"log.%"} }, ""},
	} {
		f := replicaFacts()
		c.spoil(f)
		faults := f.Faults("s", names)
		switch {
		case c.want == "" && len(faults) > 0:
			t.Errorf("%s: %+v", c.name, faults)
		case c.want != "" && (len(faults) == 0 || !strings.Contains(faults[0].What, c.want)):
			t.Errorf("%s: %+v, want %q", c.name, faults, c.want)
		}
	}
}
