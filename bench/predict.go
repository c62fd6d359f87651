package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// prediction is the part of a plan's prediction that the bench keeps (docs/events.md).
type prediction struct {
	ElapsedMS   float64 `json:"elapsed_ms,omitempty"`
	LeastMS     float64 `json:"least_ms,omitempty"`
	MostMS      float64 `json:"most_ms,omitempty"`
	DiskBytes   int64   `json:"disk_bytes,omitempty"`
	RedoBytes   int64   `json:"redo_bytes,omitempty"`
	BinlogBytes int64   `json:"binlog_bytes,omitempty"`
	// Drives are what a calibration measured.
	Drives []struct {
		Workers float64 `json:"workers"`
		Rows    float64 `json:"rows_per_s"`
		Slower  float64 `json:"slower"`
	} `json:"measured_drives,omitempty"`
}

// predicted are the ways to change the table whose cost is predicted.
func predicted() (names []string, arguments map[string][]string) {
	return []string{"shadow", "inplace-index", "inplace-rebuild", "copy"}, map[string][]string{
		"shadow":          {"--method=shadow", "ADD COLUMN c1 INT"},
		"inplace-index":   {"--method=inplace", "ADD INDEX (c)"},
		"inplace-rebuild": {"--method=inplace", "FORCE"},
		"copy":            {"--method=copy", "FORCE"},
	}
}

// predict measures how close calibrated predictions come, over sizes, loads and methods.
func (b *bench) predict(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	bases, err := b.sizes(ctx, f)
	if err != nil {
		return err
	}
	if f.PeakTPS, err = b.peak(ctx); err != nil {
		return err
	}
	names, arguments := predicted()
	for round := range b.rounds {
		for _, from := range bases {
			for _, load := range b.loads {
				if load == loadFull { // what is left then is chance
					continue
				}
				for _, name := range rotate(names, round) {
					with := arguments[name]
					t := midstreamChange(b.midstream, append(slices.Clone(b.midstreamArgs), with[0], "--calibrate"), with[1], nil)
					r, err := b.measure(ctx, from, scene{tool: name, load: load, rate: shareOfPeak(load) * f.PeakTPS, round: round}, t)
					if err != nil {
						return fmt.Errorf("predict, %s of %d rows: %w", name, from.rows, err)
					}
					f.Runs = append(f.Runs, r)
					if err := b.results.save(measurePredict, f); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// sizes makes the tables.
func (b *bench) sizes(ctx context.Context, f *File) ([]*base, error) {
	var bases []*base
	for _, rows := range b.predictRows {
		if rows == b.base.rows {
			bases = append(bases, b.base)
			continue
		}
		o := b.options
		o.rows = rows
		other, err := prepare(ctx, b.build, b.programs.sysbench, filepath.Join(b.dir, fmt.Sprint("rows-", rows)), o, b.say)
		if err != nil {
			return nil, err
		}
		header, err := b.header(ctx, other)
		if err != nil {
			return nil, err
		}
		f.Others = append(f.Others, header)
		bases = append(bases, other)
	}
	return bases, nil
}

// figure is one predicted number.
type figure struct {
	name string
	// within is the share within which it must be right.
	within            float64
	predicted, actual func(midstreamResult) float64
}

func figures() []figure {
	return []figure{
		{
			"elapsed", 0.25, func(r midstreamResult) float64 { return r.Predicted.ElapsedMS },
			func(r midstreamResult) float64 { return r.ElapsedMS },
		},
		{
			"disk", 0.15, func(r midstreamResult) float64 { return float64(r.Predicted.DiskBytes) },
			func(r midstreamResult) float64 { return float64(r.DiskBytes) },
		},
		{
			"redo", 0.15, func(r midstreamResult) float64 { return float64(r.Predicted.RedoBytes) },
			func(r midstreamResult) float64 { return float64(r.RedoBytes) },
		},
		{
			"binlog", 0.15, func(r midstreamResult) float64 { return float64(r.Predicted.BinlogBytes) },
			func(r midstreamResult) float64 { return float64(r.BinlogBytes) },
		},
	}
}

// tiny are bytes for which a prediction does not matter, and the step by which a file grows.
const tiny = 4 << 20

// off returns by how much a prediction was wrong, as a share of the real figure, NaN if there is
// nothing to compare.
func (f figure) off(r Run) float64 {
	if r.Midstream == nil || !r.Finished || r.Midstream.Predicted == nil || f.actual(*r.Midstream) == 0 {
		return math.NaN()
	}
	if f.name != "elapsed" && max(f.actual(*r.Midstream), f.predicted(*r.Midstream)) < tiny {
		return math.NaN()
	}
	off := f.predicted(*r.Midstream) - f.actual(*r.Midstream)
	if f.name != "elapsed" && math.Abs(off) <= tiny {
		return 0
	}
	return off / f.actual(*r.Midstream)
}

// predictionVerdicts report for each figure in how many cases it was close enough.
func predictionVerdicts(file *File) (verdicts []verdict) {
	for _, f := range figures() {
		var offs []float64
		if file != nil {
			for _, r := range file.Runs {
				if off := f.off(r); !math.IsNaN(off) {
					offs = append(offs, off)
				}
			}
		}
		near, share := 0, math.NaN()
		for _, off := range offs {
			if math.Abs(off) <= f.within {
				near++
			}
		}
		if len(offs) > 0 {
			share = 100 * float64(near) / float64(len(offs))
		}
		note := fmt.Sprintf(
			"%d of %d; off by %s to %s", near, len(offs), number(100*lowest(offs), "%+.0f %%"),
			number(100*highest(offs), "%+.0f %%"),
		)
		if f.name == "elapsed" {
			note += fmt.Sprintf("; %d within that or a quarter of a second", f.nearly(file))
		}
		verdicts = append(
			verdicts,
			atLeast(fmt.Sprintf("predicted %s within %.0f %%, in so many cases", f.name, 100*f.within), share, 80, "%.0f %%").
				noted("%s", note),
		)
	}
	return verdicts
}

// nearly counts the times that are right, or wrong by at most a quarter of a second: some
// statements take half a second.
func (f figure) nearly(file *File) (n int) {
	const ms = 250
	if file == nil {
		return 0
	}
	for _, r := range file.Runs {
		if off := f.off(r); !math.IsNaN(off) && (math.Abs(off) <= f.within || math.Abs(off*f.actual(*r.Midstream)) <= ms) {
			n++
		}
	}
	return n
}

func (p *page) predictions(file *File) {
	if file == nil {
		return
	}
	p.line("## Predicted and actual\n")
	p.line("With `--calibrate`, under the load; each cell has the prediction, the measured value, and the error.\n")
	p.head("rows", "load", "method", "round", "elapsed s", "disk MB", "redo MB", "binlog MB")
	for _, r := range file.Runs {
		if r.Midstream == nil || r.Midstream.Predicted == nil {
			continue
		}
		cells := []string{thousands(r.Rows), r.Load, r.Tool, fmt.Sprint(r.Round + 1)}
		if !strings.HasPrefix(r.Tool, r.Midstream.Method) {
			cells[2] += ", ended as " + r.Midstream.Method
		}
		for _, f := range figures() {
			unit := 1e6
			if f.name == "elapsed" {
				unit = 1e3
			}
			cells = append(
				cells,
				fmt.Sprintf(
					"%.1f / %.1f %s", f.predicted(*r.Midstream)/unit, f.actual(*r.Midstream)/unit,
					number(100*f.off(r), "(%+.0f %%)"),
				),
			)
		}
		p.row(cells...)
	}
	p.line("")
	p.troubles(file.Runs)
}
