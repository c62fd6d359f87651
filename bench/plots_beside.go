package main

import (
	"fmt"
	"math"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawBeside draws what the application loses next to each tool.
func drawBeside(files map[string]*File, dir string) ([]string, error) {
	f := files[measureBeside]
	if f == nil {
		return nil, nil
	}
	for file, bars := range map[string]struct {
		title, unit string
		of          func(Run) float64
	}{
		"beside-p99.svg":        {"p99 of the application compared with the time before (median)", "times", besideP99},
		"beside-throughput.svg": {"Throughput of the application compared with the time before (median)", "%", func(r Run) float64 { return 100 * besideTPS(r) }},
	} {
		err := f.drawBars(filepath.Join(dir, file), bars.title, bars.unit, nil, func(tool, load string) float64 {
			return median(collect(f.of(tool, load), bars.of))
		})
		if err != nil {
			return nil, err
		}
	}
	return []string{"beside-p99.svg", "beside-throughput.svg"}, nil
}

// drawSteps draws how fast rows are copied while the load rises and ends.
func drawSteps(files map[string]*File, dir string) ([]string, error) {
	steps := files[measureBeside].of(toolMidstream, loadStep)
	if len(steps) == 0 {
		return nil, nil
	}
	p := plot.New()
	p.Title.Text = "Rows copied while the load rises from 40 % to 100 % of the peak (at 0), and stops"
	p.X.Label.Text, p.Y.Label.Text, p.Y.Min = "s since the load rose", "rows/s", 0
	for i, r := range steps {
		var line plotter.XYs
		for _, at := range r.Step.rates() {
			line = append(line, plotter.XY{X: at.AtS - r.Step.UpS, Y: float64(at.Rows)})
		}
		if len(line) == 0 {
			continue
		}
		drawn, err := plotter.NewLine(line)
		if err != nil {
			return nil, fmt.Errorf("draw the steps: %w", err)
		}
		drawn.Color, drawn.Width = colorOf(toolMidstream), vg.Points(2.2/math.Pow(1.6, float64(i)))
		p.Add(drawn)
		p.Legend.Add(fmt.Sprintf("round %d", i+1), drawn)
	}
	p.Legend.Top = true
	return []string{"step.svg"}, save(p, filepath.Join(dir, "step.svg"))
}
