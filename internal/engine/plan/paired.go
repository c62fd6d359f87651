package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Unclear are the columns that only the old table has, and those that only the table has: the change may have renamed
// one to the other.
type Unclear struct{ Gone, Fresh []string }

// PairColumns pairs the columns of a table with those of its former self, if nothing else is known of the change: by name,
// or as the operator's map has it (column of the table to the former column, "" for a new one). The pairs are as Columns has
// them. unclear is nil unless only the operator can know the rest.
func PairColumns(former, now *schema.Table, says map[string]string) (pairs map[string]string, unclear *Unclear, err error) {
	if err := checkSays(former, now, says); err != nil {
		return nil, nil, err
	}
	m := mapper{source: former, shadow: now, alter: &ddl.Alter{}, user: says}
	var all []columnPair
	rest, taken := &Unclear{}, map[string]bool{}
	for _, to := range now.Columns {
		o := m.origin(to.Name)
		if from, there := former.Column(o.old); there && o.old != "" {
			taken[fold(from.Name)] = true
			all = append(all, columnPair{from, to})
		} else if !o.known && !to.GeneratedKey() {
			rest.Fresh = append(rest.Fresh, to.Name)
		}
	}
	for _, c := range former.Columns {
		if !taken[fold(c.Name)] && c.Generated == schema.NotGenerated && !c.GeneratedKey() {
			rest.Gone = append(rest.Gone, c.Name)
		}
	}
	if len(rest.Gone) == 0 || len(rest.Fresh) == 0 {
		rest = nil
	}
	return pairsOf(all), rest, nil
}

// checkSays compares the operator's map with both tables.
func checkSays(former, now *schema.Table, says map[string]string) error {
	var wrong []string
	continued := map[string]bool{}
	for fresh, old := range says {
		if _, is := now.Column(fresh); !is {
			wrong = append(wrong, fmt.Sprintf("%s has no column %s", now.Name, fresh))
		}
		if _, is := former.Column(old); !is && old != "" {
			wrong = append(wrong, fmt.Sprintf("%s has no column %s", former.Name, old))
		}
		if old != "" && continued[fold(old)] {
			wrong = append(wrong, fmt.Sprintf("two columns are to be the former %s", old))
		}
		continued[fold(old)] = true
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s", strings.Join(wrong, "; "))
}
