package humanize

import (
	"fmt"
	"math"
	"time"
)

// Costs writes what a pace costs the application: by how much the logarithm of the time of its
// statements is greater, and the time of the slowest hundredth, which is 0 if it is not known.
func Costs(slower float64, p99, now time.Duration) string {
	text := "statements take "
	switch factor := math.Exp(slower); {
	case factor < 1.005:
		text += "no longer"
	case factor < 2:
		text += fmt.Sprintf("%.3g %% longer", 100*(factor-1))
	default:
		text += fmt.Sprintf("%.2g times as long", factor)
	}
	if p99 > 0 && now > 0 {
		text += fmt.Sprintf(", p99 %s (now %s)", Span(p99), Span(now))
	}
	return text
}
