package plan

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/mysql/schema"
)

// TestDistance: a plan warns if the round trips under the lock of the swap take too long, and names a
// --lock-work that suffices.
func TestDistance(t *testing.T) {
	const ms = time.Millisecond
	name := schema.Name{Schema: "shop", Table: "orders"}
	modern := Version{Major: 9, Minor: 7}
	for what, c := range map[string]struct {
		version Version
		trip    time.Duration
		work    time.Duration
		capture Capture
		keys    int
		fix     string // "" for no warning
	}{
		"near":                    {version: modern, trip: ms},
		"far":                     {version: modern, trip: 20 * ms},
		"farther":                 {version: modern, trip: 40 * ms, fix: "--lock-work=700ms"},
		"farther, and allowed":    {version: modern, trip: 40 * ms, work: 700 * ms},
		"by two sessions":         {version: Version{Major: 5, Minor: 7}, trip: 20 * ms, fix: "--lock-work=500ms"},
		"by triggers":             {version: modern, trip: 20 * ms, capture: CaptureTrigger, fix: "--lock-work=600ms"},
		"with foreign keys":       {version: modern, trip: 20 * ms, keys: 3, fix: "--lock-work=600ms"},
		"too far for any setting": {version: modern, trip: 4 * time.Second, fix: "Run Midstream near the server"},
	} {
		table := &schema.Table{Name: name, ForeignKeys: make([]schema.ForeignKey, c.keys)}
		check := checker{
			facts:   &Facts{Version: c.version, RoundTrip: c.trip},
			options: Options{Work: c.work}, names: NamesOf(name), table: table,
		}
		check.captured.By = c.capture
		check.checkDistance()
		switch {
		case c.fix == "" && len(check.risks) > 0:
			t.Errorf("%s: the plan warns: %v", what, check.risks)
		case c.fix != "" && (len(check.risks) != 1 || !strings.Contains(check.risks[0].Fix, c.fix)):
			t.Errorf("%s: the plan has %v, want %s", what, check.risks, c.fix)
		}
	}
}
