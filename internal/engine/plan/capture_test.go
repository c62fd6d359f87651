package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// replicaFacts are the facts of a replica that changes can be read from.
func replicaFacts() *CaptureFacts {
	return &CaptureFacts{
		Address:           "r1:3306",
		UUID:              "r",
		Version:           Version{Major: 9, Minor: 7, Patch: 4},
		LogBin:            true,
		LogReplicaUpdates: true,
		BinlogFormat:      "ROW",
		RowImage:          "FULL",
		Workers:           4,
		PreservesOrder:    true,
		ExecMode:          "STRICT",
		SkipErrors:        "OFF",
		Channels:          []Channel{{Name: "other", SourceUUID: "x", DatabaseFilters: true}, {SourceUUID: "s", Running: true}},
	}
}

// TestL6_CaptureFaults: the plan finds what makes a replica's binlog leave out changes, or have
// them in another order.
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

// TestCaptureIsRefused: the plan refuses if another server's order of transactions, or another
// server's part in them, is not known.
func TestCaptureIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(f *Facts)
		purpose Purpose
		want    string // "" for none
	}{
		{"fit", func(f *Facts) {}, Altering, ""},
		{"of a group", func(f *Facts) { f.Group = true }, Altering, "Group Replication"},
		{"member of a group", func(f *Facts) { f.Capture.Group = true }, Altering, "Group Replication"},
		{"old", func(f *Facts) { f.Capture.Version = Version{Major: 5, Minor: 7} }, Altering, "8.0 and later"},
		{"on a replica", func(f *Facts) { f.IsReplica, f.Replicating = true, true }, RehearsingOnReplica, "Leave --capture-from out"},
		{"stands still", func(f *Facts) { f.Capture.Channels[1].Running = false }, Altering, "is stopped"},
		{"delayed", func(f *Facts) { f.Capture.Channels[1].Delay = 60 }, Altering, "SOURCE_DELAY"},
		{"another table", func(f *Facts) { f.Capture.Columns = f.Capture.Columns[1:] }, Altering, "other columns"},
		{"without privileges", func(f *Facts) { f.Capture.Grants = Grants{} }, Altering, "REPLICATION SLAVE, REPLICATION CLIENT on *.*"},
	} {
		facts, table := good(), orders(usual, "PRIMARY: id")
		facts.UUID = "s"
		replica := replicaFacts()
		replica.Columns, replica.Grants = table.Columns, facts.Grants
		facts.CaptureFrom(replica)
		c.spoil(facts)
		_, err := Make(facts, table, alter(t, "ADD COLUMN added INT"), Options{Purpose: c.purpose})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestCaptureIsChosen: the plan takes the binlog if it can be used, otherwise triggers, with the
// reason, or the way that the flag asks for.
func TestCaptureIsChosen(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(f *Facts, o *Options)
		by       Capture
		why      string
		blocking []string
	}{
		{"binlog", func(*Facts, *Options) {}, CaptureBinlog, "", nil},
		{"asked for", func(_ *Facts, o *Options) { o.Capture = CaptureTrigger }, CaptureTrigger, "asks for it", nil},
		{"none", func(f *Facts, _ *Options) { f.LogBin = false }, CaptureTrigger, "log_bin is OFF", nil},
		{"none, but asked for", func(f *Facts, o *Options) { f.LogBin, o.Capture = false, CaptureBinlog }, "", "", []string{"log-bin"}},
		{"no REPLICATION SLAVE", func(f *Facts, _ *Options) {
			f.TrustCreators, f.ReplicasUnknown = true, true
			f.Grants.Entries = []Grant{{Privileges: []string{"PROCESS", "REPLICATION CLIENT"}}, {Privileges: []string{"ALL PRIVILEGES"}, Schema: "shop"}, {Privileges: []string{"SELECT"}, Schema: "performance_schema"}}
		}, CaptureTrigger, "lacks REPLICATION SLAVE", nil},
		{"no SUPER", func(f *Facts, o *Options) {
			o.Capture = CaptureTrigger
			f.Grants.Entries = []Grant{{Privileges: []string{"PROCESS"}}, {Privileges: []string{"ALL PRIVILEGES"}, Schema: "shop"}, {Privileges: []string{"SELECT"}, Schema: "performance_schema"}}
		}, "", "", []string{"capture-trigger"}},
		{"neither", func(f *Facts, _ *Options) {
			f.Grants.Entries = []Grant{{Privileges: []string{"PROCESS"}}, {Privileges: []string{"ALL PRIVILEGES"}, Schema: "shop"}, {Privileges: []string{"SELECT"}, Schema: "performance_schema"}}
		}, "", "", []string{"grants"}},
		{"statements", func(f *Facts, o *Options) { f.BinlogFormat, o.Capture = "STATEMENT", CaptureTrigger }, "", "", []string{"capture-trigger"}},
		{"replica", func(f *Facts, o *Options) { f.IsReplica, f.LogReplicaUpdates, o.Capture = true, true, CaptureTrigger }, "", "", []string{"capture-trigger"}},
		{"backtick", func(_ *Facts, o *Options) { o.Capture = CaptureTrigger }, "", "", []string{"capture-trigger", "other-table"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, options := good(), Options{}
			c.change(facts, &options)
			table := orders(usual, "PRIMARY: id", "b: b")
			if c.name == "backtick" {
				table.Name.Schema = "sh`op"
			}
			p, err := Make(facts, table, alter(t, "ADD d INT"), options)
			var refused *Refused
			if errors.As(err, &refused) {
				if got := codes(refused.Blocking); !slices.Equal(got, c.blocking) {
					t.Errorf("blocking %v, want %v", got, c.blocking)
				}
				either := slices.ContainsFunc(
					refused.Others,
					func(r Risk) bool { return strings.HasPrefix(r.What, "triggers can't capture changes either: ") },
				)
				if neither := strings.HasPrefix(c.name, "neither"); either != neither {
					t.Errorf("the refusal has the reason against triggers too: %t: %v", either, err)
				}
				return
			}
			if err != nil || len(c.blocking) > 0 {
				t.Fatalf("error: %v", err)
			}
			if p.Capture.By != c.by || !strings.Contains(p.Capture.Why, c.why) ||
				(p.Names.Log.Table == "orders_capture") != (c.by == CaptureTrigger) {
				t.Errorf("captured by %v, log %s", p.Capture, p.Names.Log)
			}
			if told := slices.ContainsFunc(p.Risks, func(r Risk) bool { return r.What == unseenReplicas }); told != facts.ReplicasUnknown {
				t.Errorf("the plan warns of unseen replicas: %t", told)
			}
		})
	}
}
