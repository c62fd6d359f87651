package facts

import (
	"context"
	"time"

	"midstream/internal/mysql/schema"
)

// Spent is what a server had spent on a table at a moment, as far as it reports that: a value that it doesn't report is 0.
type Spent struct {
	load  Load
	files int64 // bytes of the table's files
}

// patienceForFigures is how long the server is asked for what a run has cost: not knowing is no harm.
const patienceForFigures = 2 * time.Second

// ReadSpent reads it now.
func ReadSpent(ctx context.Context, q schema.Querier, table schema.Name) (s Spent, known bool) {
	ctx, cancel := context.WithTimeout(ctx, patienceForFigures)
	defer cancel()
	var err, failed error
	s.load, err = ReadLoad(ctx, q, table)
	s.files, failed = FileBytes(ctx, q, table)
	return s, err == nil && failed == nil
}

// Since is what was spent between two moments: bytes of redo, and bytes of the table's files. built means that the files
// were built anew, beside the former ones.
func (s Spent) Since(before Spent, built bool) (redo, disk int64) {
	disk = s.files
	if !built {
		disk = max(0, s.files-before.files)
	}
	return max(0, s.load.Redo-before.load.Redo), disk
}
