package report

import (
	"strings"
	"testing"

	"midstream/internal/ops/record"
)

// TestCurve: a report of a calibrated run has the curve as a plot and as a table, with the chosen
// limit. Another report has none.
func TestCurve(t *testing.T) {
	s := story(10)
	if text := written(t, Of(s).HTML); strings.Contains(text, "<svg") || strings.Contains(text, "Pace") {
		t.Error("without a calibration there is a curve")
	}
	s.Plan.Prediction.P99US = 3900
	s.Plan.Prediction.Measures = []record.Drive{
		{Workers: 0.5, Rows: 500, Slower: 0.1, P99US: 5000}, {Workers: 3, Rows: 2000, Slower: 1, P99US: 90_000},
	}
	s.Plan.Prediction.Paces = []record.Pace{
		{Limit: "5%" + hostile, Chosen: true, ElapsedMS: 9 * 3600_000, Workers: 0.25, Rows: 250, Slower: 0.05, P99US: 4400},
		{Limit: "full speed", ElapsedMS: 2_400_000, Workers: 3, Rows: 2000, Slower: 1, P99US: 90_000},
	}
	r := Of(s)
	page := written(t, r.HTML)
	for _, want := range []string{
		`<polyline points="60,190 180,172.5 540,15" fill="none" stroke="#27c"`, `<circle cx="120" cy="181.3" r="7" fill="#d50"`, "+100 %", "2,000 rows/s",
		"<td>9 h</td><td>250 rows/s, statements take 5 % longer, p99 4.4 ms (now 3.9 ms)</td>", "<td>full speed</td><td>40 min</td>", "2 times as long, p99 90 ms",
	} {
		if !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "+", "&#43;")) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "<script>alert(1)") {
		t.Error("the page runs the script of a limit")
	}
	if text := written(t, r.Markdown); !strings.Contains(text, "## Pace") || !strings.Contains(text, "| full speed | 40 min | 2,000 rows/s, statements take 2 times as long") {
		t.Errorf("as Markdown: %s", text)
	}
	if c := r.Curve(); len(c.Picks) != 2 || len(c.Dots) != 2 || !c.Picks[0].Chosen || c.Picks[1].X != plotRight {
		t.Errorf("%+v", c)
	}
}
