package plan

import (
	"fmt"
	"time"

	"midstream/internal/mysql/ddl"
)

// Shape is what the time of the server's work under the lock of a statement on complete tables
// depends on. The server renames the files of a partitioned table one by one, and a TRUNCATE
// creates each file again.
func (f *StatementFacts) Shape(kind ddl.Kind) Shape {
	var s Shape
	for _, t := range f.Tables {
		if t.Table == nil {
			continue
		}
		s.Files += max(t.Files, 1)
		s.Indexes = max(s.Indexes, len(t.Table.Keys)-1)
	}
	switch kind {
	case ddl.KindTruncate:
		s.Files *= 2
	case ddl.KindCreate:
		s.Files = 0
	}
	return s
}

// checkFiles refuses a statement that would delay all queries of a table for too long. It only
// warns of a DROP, because no query needs the table afterwards.
func (m *tablePlanner) checkFiles() {
	swap := m.facts.Swap
	if swap == nil || m.plan.Main == "" {
		return
	}
	m.plan.Swap = swap
	limit := Limits{Locked: m.options.Stall}.WithDefaults().Locked
	if swap.Rename <= limit {
		return
	}
	known := "measured now"
	if swap.Assumed {
		known = "assumed"
	}
	kind := m.plan.Statement.Kind
	what := fmt.Sprintf("the %s works on %d files (one for each partition): that takes about %s (%s), and --native-max-lock allows %s",
		kind, swap.Files, round(swap.Rename), known, round(limit))
	const why = "all queries of the table wait for it, and the server cannot stop it"
	if kind == ddl.KindDrop {
		m.warn(CodeSwap, what, why, "")
		return
	}
	fix := "Have fewer partitions"
	if wish := (2*swap.Rename + 100*time.Millisecond).Truncate(100 * time.Millisecond); wish <= time.Hour {
		fix = fmt.Sprintf("Allow more, if queries may wait that long: --native-max-lock=%s", wish)
	}
	m.block(CodeSwap, what, why, fix)
}
