package main

import (
	"context"
	"fmt"
	"slices"
)

// partitioned are the numbers of partitions that partitions compares.
var partitioned = []int{1, 1000}

// partitions measures apply while the new table gets partitions by a column that its key lacked: each changed key must be found in one of
// them. The swap of 1,000 partitions takes seconds: it is not measured.
func (b *bench) partitions(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, n := range rotate(partitioned, round) {
			clauses := fmt.Sprintf("DROP PRIMARY KEY, ADD PRIMARY KEY (id, k) PARTITION BY HASH (k) PARTITIONS %d", n)
			r, err := b.applyRun(ctx, orderScattered, false, clauses, "--lock-work=30s")
			if err != nil {
				return fmt.Errorf("apply to %d partitions: %w", n, err)
			}
			r.Round, r.Partitions = round, n
			f.Apply = append(f.Apply, r)
			b.say("round %d  apply to %4d partitions  %6.0f rows/s (%.0f from the first change to the last applied) %s",
				round+1, n, r.AppliedPerS, r.OverallPerS, r.Error)
			if err := b.results.save(measureParts, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *page) partitions(f *File) {
	if f == nil || len(f.Apply) == 0 {
		return
	}
	p.line("## Partitions\n")
	p.line("The new table is partitioned by a column that its key lacked. Every row is changed once, at full speed, after the row copy.\n")
	p.head("partitions", "applied rows/s", "from the first change to the last applied")
	for _, n := range partitioned {
		runs := slices.DeleteFunc(slices.Clone(f.Apply), func(r ApplyRun) bool { return r.Partitions != n })
		of := func(f func(ApplyRun) float64) []float64 { return collect(runs, f) }
		p.row(fmt.Sprint(n), spread(of(func(r ApplyRun) float64 { return r.AppliedPerS }), "%.0f"),
			spread(of(func(r ApplyRun) float64 { return r.OverallPerS }), "%.0f"))
	}
	p.line("")
	p.applyTroubles(f.Apply)
}
