package plan

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/mysql/schema"
)

// TestWhatTheServerHasCounted: a plan warns of numbers that run out and of indexes that no statement uses, as far as the server's
// counts prove that.
func TestWhatTheServerHasCounted(t *testing.T) {
	const month = 30 * day
	for _, c := range []struct {
		name, clauses string
		change        func(f *Facts, t *schema.Table)
		want          string // in the warnings
	}{
		{"nearly full", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement, f.Usage = 2_000_000_000, &Usage{Uptime: month, Counting: day, Inserts: 90_000_000}
		}, "column id (int) has 6.87 % of its numbers left, and will be full in 49 days: the server has inserted 3000000 rows a day for 30 days; an INSERT fails when there is none. Make it BIGINT in this ALTER too"},
		{"far from full, and fast", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement, f.Usage = 1_000_000_000, &Usage{Uptime: month, Counting: day, Inserts: 300_000_000}
		}, "and will be full in 114 days"},
		{"full", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement, f.Usage = 1<<31, &Usage{Uptime: month, Counting: day, Inserts: 300}
		}, "has 0 % of its numbers left, and will be full in 0 days"},
		{"no rate", "ADD COLUMN n INT", func(_ *Facts, t *schema.Table) { t.AutoIncrement = 2_000_000_000 }, "has 6.87 % of its numbers left: an INSERT fails"},
		{"a rate of an hour", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement, f.Usage = 1_000_000_000, &Usage{Uptime: month, Counting: time.Hour, Inserts: 300_000_000}
		}, ""},
		{"slow", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement, f.Usage = 1_000_000_000, &Usage{Uptime: month, Counting: day, Inserts: 30_000_000}
		}, ""},
		{"unsigned", "ADD COLUMN n INT", func(_ *Facts, t *schema.Table) { t.AutoIncrement, t.Columns[0].Unsigned = 3_000_000_000, true }, ""},
		{"of foreign keys", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			t.AutoIncrement = 2_000_000_000
			f.Referencing = []schema.ForeignKey{{Constraint: "f", Child: schema.Name{Schema: "shop", Table: "items"}, Parent: t.Name}}
		}, "Make it BIGINT together with the columns that refer to it"},
		{"the ALTER makes it BIGINT", "MODIFY id BIGINT NOT NULL AUTO_INCREMENT", func(_ *Facts, t *schema.Table) { t.AutoIncrement = 2_000_000_000 }, ""},
		{"the ALTER makes it smaller", "MODIFY id SMALLINT NOT NULL AUTO_INCREMENT", func(_ *Facts, t *schema.Table) { t.AutoIncrement = 32_000 }, "column id (smallint) has 2.34 % of its numbers left"},
		{"renamed to BIGINT", "CHANGE id n BIGINT NOT NULL AUTO_INCREMENT", func(_ *Facts, t *schema.Table) { t.AutoIncrement = 2_000_000_000 }, ""},
		{"no numbers any more", "MODIFY id INT NOT NULL", func(_ *Facts, t *schema.Table) { t.AutoIncrement = 2_000_000_000 }, ""},

		{"unused", "ADD COLUMN n INT", func(f *Facts, _ *schema.Table) {
			f.Usage = &Usage{Counting: month, All: 1, Unused: []string{"PRIMARY", "b", "u"}}
		},
			"no statement has used index b in the 30 days for which this server counts: each write maintains it"},
		{"unused, for a day", "ADD COLUMN n INT", func(f *Facts, _ *schema.Table) { f.Usage = &Usage{Counting: day, All: 1, Unused: []string{"b"}} }, ""},
		{"nothing is counted", "ADD COLUMN n INT", func(f *Facts, _ *schema.Table) { f.Usage = &Usage{Counting: month, Unused: []string{"b"}} }, ""},
		{"the ALTER drops it", "DROP INDEX b", func(f *Facts, _ *schema.Table) { f.Usage = &Usage{Counting: month, All: 1, Unused: []string{"b"}} }, ""},
		{"a foreign key may need it", "ADD COLUMN n INT", func(f *Facts, t *schema.Table) {
			f.Usage = &Usage{Counting: month, All: 1, Unused: []string{"b"}}
			t.ForeignKeys = []schema.ForeignKey{{Constraint: "f", Child: t.Name, Columns: []string{"b"}, Parent: schema.Name{Schema: "shop", Table: "p"}, ParentColumns: []string{"b"}}}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, f := orders(usual, "PRIMARY: id", "b: b", "UNIQUE u: a"), good()
			table.Columns[0].AutoIncrement = true
			c.change(f, table)
			var got []string
			risks := []Risk(nil)
			if p, err := Make(f, table, alter(t, c.clauses), Options{}); err == nil {
				risks = p.Risks
			} else if refused, is := err.(*Refused); is {
				risks = refused.Others
			}
			for _, r := range risks {
				if r.Code == CodeNumbersLeft || r.Code == CodeUnused {
					got = append(got, r.String())
				}
			}
			if all := strings.Join(got, "\n"); !strings.Contains(all, c.want) || (c.want == "") != (all == "") || len(got) > 1 {
				t.Errorf("%q, want %q", all, c.want)
			}
		})
	}
}
