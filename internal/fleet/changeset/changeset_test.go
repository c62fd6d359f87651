package changeset_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/rollout"
)

const orders = `id: orders-note-1
statement: ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)
selector: app=shop,env=prod
waves:
  - {name: canary, selector: shard=000, soak: 30m, approve: true}
  - {name: a tenth, share: 10%, soak: 2h}
  - {name: rest}
limits: {all: 40, per_host: 1, per_cell: 4}
stop_after: {failed: 2}
swap: {when: wave_ready, window: "Tue-Thu 09:00-16:00 Europe/Berlin"}
undo: 24h
`

// TestParse: what the file has is in the set, and what it leaves open has its default.
func TestParse(t *testing.T) {
	set, err := changeset.Parse("orders.yaml", []byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	if set.ID != "orders-note-1" || set.Selector.String() != "app=shop,env=prod" || len(set.Waves) != 3 || set.StopAfter != 2 || set.Undo != 24*time.Hour ||
		set.Limits != (rollout.Limits{All: 40, PerHost: 1, PerCell: 4}) ||
		set.Swap.When != rollout.WhenWaveReady || set.Retry.Attempts != 3 {
		t.Errorf("%+v", set)
	}
	if w := set.Waves[0]; w.Name != "canary" || w.Selector.String() != "shard=000" || w.Soak != 30*time.Minute || !w.Approve || w.Approvers != nil {
		t.Errorf("%+v", w)
	}
	if w := set.Waves[1]; w.Name != "a tenth" || w.Share != 1000 || w.Soak != 2*time.Hour || w.Approve {
		t.Errorf("%+v", w)
	}
}

// TestTheDocsExample: the file of docs/change-sets.md is one.
func TestTheDocsExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/change-sets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if _, err := changeset.Parse("docs/change-sets.md", []byte(text)); err != nil {
		t.Error(err)
	}
}

// TestNormalForm: it is read again, and says the same; the order of keys, blanks and defaults make no difference.
func TestNormalForm(t *testing.T) {
	set, err := changeset.Parse("a", []byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	text := changeset.Format(set)
	again, err := changeset.Parse("b", []byte(text))
	if err != nil || changeset.Format(again) != text || changeset.Hash(again) != changeset.Hash(set) {
		t.Errorf("%v\n%s\n%s", err, text, changeset.Format(again))
	}
	other := `
retry: {wait: 60s, attempts: 3}
undo: 1d
swap: {window: "Tue-Thu  09:00-16:00   Europe/Berlin", when: wave_ready}
stop_after:
    failed: 2
waves: [{soak: 1800s, name: canary, selector: "shard=000", approve: true}, {name: "a tenth", share: 10.0%, soak: 120m}, {name: rest}]
limits: {per_cell: 4, per_host: 1, all: 40}
selector: 'env=prod, app=shop'
statement: "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)" # a comment
id: orders-note-1
`
	if same, err := changeset.Parse("c", []byte(other)); err != nil || changeset.Hash(same) != changeset.Hash(set) {
		t.Errorf("%v\n%s\n%s", err, text, changeset.Format(same))
	}
	for old, by := range map[string]string{"30m": "31m", "10%": "11%", "failed: 2": "failed: 3", "24h": "25h", "per_cell: 4": "per_cell: 5", "orders ADD": "order ADD", "wave_ready": "ready", "true": "[anna]"} {
		different, err := changeset.Parse("d", []byte(strings.Replace(orders, old, by, 1)))
		if err != nil || changeset.Hash(different) == changeset.Hash(set) {
			t.Errorf("%s for %s: %v, the same hash", by, old, err)
		}
	}
}

// TestErrors: each names the line, what is wrong, why, and what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, by, want string }{
		{"undo: 24h", "undo: 24", `line 11: undo is "24": a time has a number and a unit; write it as 90s, 30m, 2h, 1h30m or 7d`},
		{"undo: 24h", "undo: -1h", `line 11: undo is "-1h": a time`},
		{"undo: 24h", "undo: 0s", `line 11: undo is "0s": a time`},
		{"undo: 24h", "Undo: 24h", `line 11: the change set has an unknown key "Undo": a rule that is not read does not hold; did you mean undo?`},
		{"undo: 24h", "on: {release: x}", `line 11: the change set has the key on: programs that read YAML 1.1 take on for true or false, and it is no key of a change set; use id, statement`},
		{"undo: 24h", "undo: 24h\nundo: 25h", `line 12: the change set has the key undo twice: line 11 has it, too, and one of the two would not count; remove one`},
		{"undo: 24h", "skip_applied: yes", `line 11: skip_applied is "yes": YAML 1.1 takes yes for true or false, and YAML 1.2 for a text; write true or false`},
		{"undo: 24h", "skip_applied: 1", `line 11: skip_applied is "1": it must be true or false; write true or false`},
		{"limits: {all: 40,", "limits: {al: 40,", `line 8: limits has an unknown key "al": a rule that is not read does not hold; did you mean all?`},
		{"all: 40", "all: 0", `line 8: limits.all is "0": it must be a whole number from 1 on; write one, or remove the key for its default`},
		{"all: 40", "all: 0x28", `line 8: limits.all is "0x28": it must be`},
		{"all: 40", "all: many", `line 8: limits.all is "many": it must be`},
		{"stop_after: {failed: 2}", "stop_after: 2", `line 9: stop_after is no mapping: it has keys; write failed, each with its value`},
		{"selector: app=shop,env=prod", "selector: app shop", `line 3: selector is "app shop": condition "app shop": the label "app shop" must be`},
		{"selector: app=shop,env=prod", `selector: ""`, `line 3: selector is empty: it must have a value; write one, or remove the key`},
		{"selector: app=shop,env=prod\n", "", `line 1: the change set has no selector: it chooses the servers; add selector`},
		{"statement: ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\n", "", `line 1: the change set has no statement and no files: one of them is the change; add statement`},
		{"statement: ALTER", "files: [a.sql]\nstatement: ALTER", `line 1: the change set has a statement and files: it is one change; remove one of the two`},
		{"id: orders-note-1", "id: orders/note", `line 1: id is "orders/note": each member's change is named after it; use at most 64`},
		{"id: orders-note-1", "id: 17", `line 1: id is 17 without quotes: YAML takes it for a number, not for a text; write "17"`},
		{"id: orders-note-1", "id: on", `line 1: id is on without quotes: YAML takes it for true or false, not for a text; write "on"`},
		{"share: 10%", "share: 100%", `line 7: the shares are 100% in all: a share is of all members, so that not enough are left; reduce them to less than 100%`},
		{"- {name: rest}", "- {name: rest, share: 20%}", `line 7: the shares are 30% in all, and no wave takes the rest: some members would be in no wave; add a last wave`},
		{"share: 10%", "share: 10", `line 6: waves[1].share is "10": a share is a part of all members, above 0% and up to 100%; write it as 10% or 2.5%`},
		{"share: 10%", "share: 0%", `line 6: waves[1].share is "0%"`}, {"share: 10%", "share: 101%", `line 6: waves[1].share is "101%"`},
		{"share: 10%", "share: 1e1%", `line 6: waves[1].share is "1e1%"`}, {"share: 10%", "share: NaN%", `line 6: waves[1].share is "NaN%"`},
		{"share: 10%", "share: 10%, selector: a=b", `line 6: waves[1] has a selector and a share: a wave has its members by one of the two; remove one`},
		{"name: a tenth", "name: canary", `line 6: two waves have the name canary: line 5 has it, too, and an approval names its wave; give one of them another name`},
		{"name: a tenth", "name: Canary", `line 6: two waves have the name Canary`},
		{"name: a tenth, share: 10%", "name: a tenth", `line 7: two waves take the rest: line 6 has no selector and no share, too; give one of them a share`},
		{"name: canary, selector: shard=000", "name: canary, selector: shard 0", `line 5: waves[0].selector is "shard 0"`},
		{"{name: rest}", "{soak: 1h}", `line 7: waves[2] has no name: an approval and a release name their wave; add name`},
		{"  - {name: rest}", "  - rest", `line 7: waves[2] is no mapping: it has keys; write name, selector, share, soak or approve, each with its value`},
		{"approve: true", "approve: [anna, no]", `line 5: waves[0].approve[1] is no without quotes`},
		{"approve: true", "approve: []", `line 5: waves[0].approve is no list: it has one entry or more; begin each entry with a dash`},
		{"wave_ready", "wave_redy", `line 10: swap.when is "wave_redy": it names what a swap waits for; did you mean wave_ready?`},
		{" Europe/Berlin", "", `line 10: swap.window is "Tue-Thu 09:00-16:00", without a time zone: machines of the fleet may have different zones; add it at the end`},
		{" Europe/Berlin", " Atlantis", `line 10: swap.window is "Tue-Thu 09:00-16:00 Atlantis": unknown time zone Atlantis`},
		{"Tue-Thu", "Tu-Thu", `line 10: swap.window is "Tu-Thu 09:00-16:00 Europe/Berlin": unknown day "Tu"`},
		{"wave_ready,", "wave_ready, hold: 1s,", `line 10: swap has hold or margin: they are for a barrier; remove them, or use when: barrier`},
		{"wave_ready,", "barrier, hold: 1s, margin: 600ms,", `line 10: swap.margin is 600ms, and swap.hold is 1s: no time is left for the members to lock; make hold at least twice as long as margin`},
		{"wave_ready,", "barrier, hold: 1m,", `line 10: swap.hold is 1m0s: queries on all members wait for so long; use at most 10s`},
		{"undo: 24h", "undo: &a 24h", `line 11: the file has an anchor or an alias: each rule is at one place; write the value out`},
		{"undo: 24h", "---\nid: b", `line 11: the file has a second document: a file is one change set; write a file for each, and remove ---`},
		{"undo: 24h", "undo: [24h", `line `}, {"undo: 24h", "\tundo: 24h", `is not YAML`}, {orders, "", `line 1: the file is empty: a change set has an id`},
		{orders, "- a\n", `line 1: the change set is no mapping`}, {orders, "# nothing\n", `line 1: the file is empty`},
	} {
		text := strings.Replace(orders, c.old, c.by, 1)
		set, err := changeset.Parse("orders.yaml", []byte(text))
		var e *changeset.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v", c.by, set, err)
			continue
		}
		if len(e.Problems) > 2 || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "orders.yaml, line ") {
			t.Errorf("%q:\n%v\nwant\n%s", c.by, err, c.want)
		}
		for _, p := range e.Problems {
			if p.Line < 1 || p.What == "" || p.Why == "" || p.Next == "" {
				t.Errorf("%q: %+v", c.by, p)
			}
		}
	}
}

// TestAllErrorsAtOnce: a file with several has them in the order of its lines.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := changeset.Parse("a.yaml", []byte("id: a/b\nselector: x y\nwaves:\n  - {nam: a}\nundo: 3\n"))
	var e *changeset.Error
	if !errors.As(err, &e) || len(e.Problems) != 6 {
		t.Fatal(err)
	}
	for i := range e.Problems[1:] {
		if e.Problems[i].Line > e.Problems[i+1].Line {
			t.Errorf("%v", err)
		}
	}
}

// TestAHostileFileIsRefusedAtOnce: neither the time nor the answer grows without bound, and a name is one line that a request can have.
func TestAHostileFileIsRefusedAtOnce(t *testing.T) {
	const top = "id: a\nstatement: ALTER TABLE t ADD c INT\nselector: '*'\n"
	named := func(name string) string { return top + "waves:\n  - {name: " + name + "}\n" }
	for text, want := range map[string]string{
		top + "waves: [" + strings.Repeat("{},", 300_000) + "]\n":                     "waves has 300000 entries: a list may have 1000",
		top + "waves: [{name: a}]\n" + strings.Repeat("? []\n", 100_000):              "more problems",
		top + "waves: [{name: a, approve: [" + strings.Repeat("b,", 10_000) + "]}]\n": "waves[0].approve has 10000 entries",
		"id: \"" + strings.Repeat("\\e", 300_000) + "\"\n":                            `id is "\x1b`,
		"id: " + strings.Repeat("[", 500_000):                                         "exceeded max depth",
		"a: &a [x,x]\n" + "b: &b [*a,*a]\nc: &c [*b,*b]\n" + top:                      "an anchor or an alias",
		named(`"a\e[2J"`):               `waves[0].name is "a\x1b[2J": requests, pages and logs have this name`,
		named(`"a\u202eb"`):             "use at most 200 characters that can be seen",
		named(`"a\nb"`):                 "on one line",
		named(strings.Repeat("x", 201)): "use at most 200 characters",
		top + "waves: [{name: a, approve: [\"b\\rc\"]}]\n":                   "waves[0].approve[0] is \"b\\rc\"",
		top + "waves: [{name: a}]\nundo: 24h\n" + strings.Repeat("#", 1<<20): "it may have 1048576 bytes",
	} {
		began := time.Now()
		_, err := changeset.Parse("f", []byte(text))
		took := time.Since(began)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 100_000 || took > 30*time.Second {
			t.Errorf("%.80q: %s, %.300v; want %s", text, took, err, want)
		}
	}
	if _, err := changeset.Parse("f", []byte(named("'Kanarienvögel: 金丝雀 '"))); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(orders)
	f.Add("a: &x [1]\nb: *x\n")
	f.Add("id: \"\\x00\"\n? {a: b}\n: c\n")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := changeset.Parse("f", []byte(text))
		if err != nil {
			return
		}
		normal := changeset.Format(set)
		if again, err := changeset.Parse("f", []byte(normal)); err != nil || changeset.Format(again) != normal {
			t.Errorf("%v\n%s", err, normal)
		}
	})
}
