package desired

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// Since are the clauses that lead from a definition of a table to a later one; nil if both are the same. A column continues
// the one of its name. Foreign keys are left out, and names of CHECKs.
func Since(made, now *schema.Table) []string {
	before, after, says := *made, *now, map[string]string{}
	before.Keys = slices.DeleteFunc(slices.Clone(made.Keys), func(k schema.Key) bool { return k.Name == schema.HelperIndex })
	for _, c := range now.Columns {
		says[c.Name] = ""
		if _, there := made.Column(c.Name); there {
			says[c.Name] = c.Name
		}
	}
	d := differ{have: sideOf(&before), want: sideOf(&after), says: says, argument: func(old, fresh string) string { return "" }}
	d.have.foreign, d.want.foreign = nil, nil
	d.want.checks = slices.Clone(d.want.checks)
	for i := range d.want.checks {
		d.want.checks[i].Name = ""
	}
	d.diff()
	all := slices.Concat(d.drops, d.changes, d.keys, d.checks, d.options)
	if text := strings.TrimSpace(d.partitions()); text != "" {
		all = append(all, text)
	}
	for _, r := range d.reasons {
		all = append(all, r.What)
	}
	return all
}
