package report

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/face/humanize"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// lockRow is the figure of the swap among the predicted ones.
const lockRow = "lock of the cut-over"

// shareSwap takes the figure of the swap from the tables of a group: it is one for all.
func (r *Report) shareSwap() {
	for _, member := range r.Members() {
		if result := member.Result; result != nil && result.Attempts > 0 {
			what := "All tables were swapped in one step"
			if result.Rehearsal != "" {
				what = "The lock of all tables was rehearsed"
			} else if !result.Swapped {
				what = "No table was swapped"
			}
			r.Lock = fmt.Sprintf("%s: %s, held for %s.", what, humanize.Plural(result.Attempts, "attempt"), span(result.LockHeldMS))
		}
		member.Compared = slices.DeleteFunc(member.Compared, func(c Comparison) bool { return c.What == lockRow })
	}
}

// Members are the reports of all tables of a group, by the names of the tables; that of a run alone is the only one.
func (r *Report) Members() []*Report {
	all := append([]*Report{r}, r.Together...)
	slices.SortFunc(all, func(a, b *Report) int { return strings.Compare(a.Run.Table, b.Run.Table) })
	return all
}

// Title names the tables.
func (r *Report) Title() string {
	var names []string
	for _, member := range r.Members() {
		names = append(names, schema.NameOf(member.Run.Table).String())
	}
	return strings.Join(names, ", ")
}

// Figures are those of a table's run; zero if it has no result.
func (r *Report) Figures() record.Result {
	if r.Result == nil {
		return record.Result{}
	}
	return *r.Result
}
