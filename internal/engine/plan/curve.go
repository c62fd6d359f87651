package plan

import (
	"math"
	"slices"
	"time"
)

// Point is what a calibration measured while the row copy worked at one drive.
type Point struct {
	Drive float64 // workers at work; 1.5 means that the second one works half of the time
	Rows  float64 // copied in a second
	// Slower is by how much the logarithm of the time of the application's statements was greater
	// than without the row copy.
	Slower float64
	// P99 is the time of the slowest hundredth of them; 0 if not known.
	P99 time.Duration
}

// Curve is how fast rows are copied, and at what cost for the application, by the drive of the row
// copy. The zero value knows nothing.
type Curve struct {
	Points []Point // from the lowest drive to the highest
	// The application without the row copy: statements in a second, their mean time, and the time
	// of the slowest hundredth (0 if not known).
	Statements float64
	Mean, P99  time.Duration
	// Running is the number of its statements that run at one time, and Used the part of their time
	// for which its sessions wait for statements.
	Running, Used float64
	// Complete means that the highest drive was measured: the table has rows enough for that.
	Complete bool
}

// Known reports whether the application was at work, and at least one drive was measured.
func (c Curve) Known() bool { return len(c.Points) > 0 && c.Mean > 0 }

// Full is the point of the highest drive.
func (c Curve) Full() Point {
	if len(c.Points) == 0 {
		return Point{}
	}
	return c.Points[len(c.Points)-1]
}

// Slope is the cost of a drive of one, by least squares: a straight line through zero, as the
// governor of the row copy takes it.
func (c Curve) Slope() float64 {
	var dd, dx float64
	for _, p := range c.Points {
		dd, dx = dd+p.Drive*p.Drive, dx+p.Drive*p.Slower
	}
	return max(0, dx) / max(1e-9, dd)
}

// Uncertain reports whether the time of statements varied by itself about as much as the work changed
// it: the slope is less than twice its standard error.
func (c Curve) Uncertain() bool {
	slope := c.Slope()
	var ee, dd float64
	for _, p := range c.Points {
		miss := p.Slower - slope*p.Drive
		ee, dd = ee+miss*miss, dd+p.Drive*p.Drive
	}
	sure := math.Sqrt(ee / float64(max(1, len(c.Points)-1)) / max(1e-9, dd))
	return slope < 2*sure || slope == 0
}

// At returns the point of a drive: between the two points that were measured around it, between the
// first one and rest, or the last one for a higher drive.
func (c Curve) At(drive float64) Point {
	i, found := slices.BinarySearchFunc(c.Points, drive, func(p Point, drive float64) int {
		switch {
		case p.Drive < drive:
			return -1
		case p.Drive > drive:
			return 1
		}
		return 0
	})
	if i == len(c.Points) {
		return c.Full()
	}
	above, below := c.Points[i], Point{P99: c.P99}
	if i > 0 {
		below = c.Points[i-1]
	}
	p := Point{Drive: drive, Rows: above.Rows, Slower: c.Slope() * drive, P99: above.P99}
	if found {
		return p
	}
	part := (drive - below.Drive) / (above.Drive - below.Drive)
	p.Rows = below.Rows + part*(above.Rows-below.Rows)
	if below.P99 > 0 && above.P99 > 0 {
		p.P99 = below.P99 + time.Duration(part*float64(above.P99-below.P99))
	}
	return p
}

// Offer is what a change costs by one limit of the application's slowdown.
type Offer struct {
	Limit  string // as --max-slowdown writes it, or "full speed"
	Chosen bool   // the settings have this limit
	Point
	Elapsed time.Duration
	// WithWindow is Elapsed with the waits for the copy window and the load of each hour; 0 without both.
	WithWindow time.Duration
}
