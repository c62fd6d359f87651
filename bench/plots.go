package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// colorOf is a tool's color in every plot. They differ in lightness, too.
func colorOf(tool string) color.Color {
	switch tool {
	case toolMidstream:
		return color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	case toolPT:
		return color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	case toolInplace:
		return color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	case toolCopy:
		return color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	}
	return color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}
}

// drawPlots draws what the files have, and returns the names of the plots.
func drawPlots(files map[string]*File, dir string) (names []string, err error) {
	for _, draw := range []func(map[string]*File, string) ([]string, error){drawPeers, drawBeside, drawSteps} {
		drawn, err := draw(files, dir)
		if err != nil {
			return nil, err
		}
		names = append(names, drawn...)
	}
	return names, nil
}

// drawPeers draws what the peers' file has.
func drawPeers(files map[string]*File, dir string) (names []string, err error) {
	f := files[measurePeers]
	if f == nil || len(f.Runs) == 0 {
		return nil, nil
	}
	bars := []struct {
		file, title, unit string
		without           []string // loads that have no such value
		value             func(tool, load string) float64
	}{
		{"elapsed.svg", "Elapsed (median of finished runs)", "s", nil, func(tool, load string) float64 {
			if tool == toolNone {
				return math.NaN()
			}
			return median(collect(f.of(tool, load), elapsedOf))
		}},
		{"throughput.svg", "Foreground throughput compared with none", "%", []string{loadIdle}, func(tool, load string) float64 {
			return 100 * median(paired(f.of(tool, load), f.of(toolNone, load), tpsOf))
		}},
		{"stall.svg", "Longest stall of a statement (worst round)", "ms, logarithmic", nil, func(tool, load string) float64 {
			return highest(collect(f.of(tool, load), longestStatement))
		}},
	}
	for _, b := range bars {
		if err := f.drawBars(filepath.Join(dir, b.file), b.title, b.unit, b.without, b.value); err != nil {
			return nil, err
		}
		names = append(names, b.file)
	}
	drawn, err := f.drawTimeline(filepath.Join(dir, "timeline.svg"))
	if drawn {
		names = append(names, "timeline.svg")
	}
	return names, err
}

// drawBars draws a group of bars for each load, one for each tool.
func (f *File) drawBars(path, title, unit string, without []string, value func(tool, load string) float64) error {
	loads, tools := f.names()
	loads = slices.DeleteFunc(loads, func(load string) bool { return slices.Contains(without, load) })
	if len(loads) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.Y.Min = title, unit, 0
	logarithmic := unit == "ms, logarithmic" // bars begin at 0: draw the powers
	if logarithmic {
		p.Y.Tick.Marker = powersOfTen{}
	}
	const width = 14
	for i, tool := range tools {
		values := make(plotter.Values, len(loads))
		some := false
		for j, load := range loads {
			if v := value(tool, load); !math.IsNaN(v) {
				if logarithmic {
					v = math.Log10(max(v, 1))
				}
				values[j], some = v, true
			}
		}
		if !some {
			continue
		}
		chart, err := plotter.NewBarChart(values, vg.Points(width))
		if err != nil {
			return fmt.Errorf("draw %s: %w", path, err)
		}
		chart.Color, chart.LineStyle.Width = colorOf(tool), 0
		chart.Offset = vg.Points(float64(width) * (float64(i) - float64(len(tools)-1)/2))
		p.Add(chart)
		p.Legend.Add(tool, chart)
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Max *= 1.35 // room for the legend
	p.NominalX(loads...)
	p.X.Min, p.X.Max = -0.5, float64(len(loads))-0.5 // room for a group at both ends
	return save(p, path)
}

// powersOfTen are the ticks of an axis of logarithms.
type powersOfTen struct{}

func (powersOfTen) Ticks(low, high float64) (ticks []plot.Tick) {
	for power := math.Ceil(low); power <= high; power++ {
		ticks = append(ticks, plot.Tick{Value: power, Label: fmt.Sprintf("%.0f", math.Pow(10, power))})
	}
	return ticks
}

// drawTimeline draws the throughput at full speed, second by second, of the first round.
func (f *File) drawTimeline(path string) (bool, error) {
	_, tools := f.names()
	p := plot.New()
	p.Title.Text = "Throughput at full speed, first round (thick: while the tool ran)"
	p.X.Label.Text, p.Y.Label.Text, p.Y.Min = "s since the tool began", "transactions/s", 0
	drawn := false
	for _, tool := range tools {
		runs := f.of(tool, loadFull)
		if len(runs) == 0 || runs[0].Foreground == nil {
			continue
		}
		fg := runs[0].Foreground
		var all, during plotter.XYs
		for second, n := range fg.PerSecond {
			at := plotter.XY{X: float64(second) + 0.5 - fg.ToolFromS, Y: float64(n)}
			all = append(all, at)
			if at.X >= 0 && at.X <= fg.ToolToS-fg.ToolFromS {
				during = append(during, at)
			}
		}
		for i, part := range []plotter.XYs{all, during} {
			if len(part) == 0 {
				continue
			}
			line, err := plotter.NewLine(part)
			if err != nil {
				return drawn, fmt.Errorf("draw %s: %w", path, err)
			}
			line.Color, line.Width = colorOf(tool), vg.Points([]float64{0.7, 2.2}[i])
			p.Add(line)
			if i == 0 {
				p.Legend.Add(tool, line)
			}
		}
		drawn = true
	}
	if !drawn {
		return false, nil
	}
	p.Legend.Top = true
	p.Y.Max *= 1.2
	return true, save(p, path)
}

func save(p *plot.Plot, path string) error {
	if err := p.Save(18*vg.Centimeter, 10*vg.Centimeter, path); err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}
