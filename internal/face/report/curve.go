package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"midstream/internal/face/humanize"
	"midstream/internal/ops/record"
)

// Curve is the plot of what the calibration measured: how fast rows are copied, and by how much the
// application's statements take longer.
type Curve struct {
	// Line is the measured curve, as points of an SVG polyline.
	Line  string
	Dots  []Dot // measured
	Picks []Dot // the limits
	// MostRows and MostSlower are the ends of the axes.
	MostRows, MostSlower string
}

// Dot is a point of the plot.
type Dot struct {
	X, Y   float64
	Title  string
	Chosen bool
}

// The size of the plot, with its margins.
const (
	plotWidth, plotHeight = 560.0, 220.0
	plotLeft, plotBottom  = 60.0, 190.0
	plotRight, plotTop    = 540.0, 15.0
)

// Curve is the plot of the plan's calibration; nil if there was none next to an application.
func (r *Report) Curve() *Curve {
	if r.Plan == nil || len(r.Plan.Prediction.Paces) == 0 || len(r.Plan.Prediction.Measures) == 0 {
		return nil
	}
	p := r.Plan.Prediction
	var most, slowest float64
	for _, d := range p.Measures {
		most, slowest = max(most, d.Rows), max(slowest, d.Slower)
	}
	if most <= 0 {
		return nil
	}
	slowest = max(slowest, 0.1)
	dot := func(d record.Drive, title string) Dot {
		x := plotLeft + (plotRight-plotLeft)*min(1, d.Rows/most)
		y := plotBottom - (plotBottom-plotTop)*min(1, max(0, d.Slower)/slowest)
		return Dot{X: math.Round(10*x) / 10, Y: math.Round(10*y) / 10, Title: title}
	}
	c := &Curve{MostRows: humanize.Rate(most) + " rows/s", MostSlower: fmt.Sprintf("+%.0f %%", 100*slowest)}
	line := []string{fmt.Sprintf("%g,%g", plotLeft, plotBottom)}
	for _, d := range p.Measures {
		at := dot(d, fmt.Sprintf("%g workers: %s", d.Workers, costs(d, p.P99US)))
		c.Dots = append(c.Dots, at)
		line = append(line, fmt.Sprintf("%g,%g", at.X, at.Y))
	}
	c.Line = strings.Join(line, " ")
	for _, one := range p.Paces {
		at := dot(one.Drive(), one.Limit+": "+humanize.About(one.ElapsedMS.Duration()))
		at.Chosen = one.Chosen
		c.Picks = append(c.Picks, at)
	}
	return c
}

// costs writes a drive's rate and its cost.
func costs(d record.Drive, now int64) string {
	return humanize.Rate(d.Rows) + " rows/s, " + humanize.Costs(math.Log1p(d.Slower), microseconds(d.P99US), microseconds(now))
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Offer is a limit in a table.
type Offer struct{ Limit, Time, Cost string }

// Offers are what the plan takes by several limits.
func (r *Report) Offers() (list []Offer) {
	if r.Plan == nil {
		return nil
	}
	for _, p := range r.Plan.Prediction.Paces {
		limit := p.Limit
		if p.Chosen {
			limit += " (chosen)"
		}
		takes := max(p.ElapsedMS, p.WithWindowMS)
		list = append(list, Offer{limit, humanize.About(takes.Duration()), costs(p.Drive(), r.Plan.Prediction.P99US)})
	}
	return list
}
