package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricName  = regexp.MustCompile(`\b(midstream|process)_[a-z_]+`)
	labelOfName = regexp.MustCompile(`\b(midstream|process)_[a-z_]+\{([^}]*)\}`)
	labelName   = regexp.MustCompile(`([a-z_]+) *(?:=~|!~|!=|=)`)
	panelExpr   = regexp.MustCompile(`"(?:expr|query)": "((?:[^"\\]|\\.)*)"`)
	alertExpr   = regexp.MustCompile(`(?m)^ +expr: (.*)$`)
)

// TestContrib: the dashboard and the alerts ask for metrics and labels that there are, and the
// dashboard leaves none out but those that are named.
func TestContrib(t *testing.T) {
	labels := map[string][]string{"process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil}
	for _, d := range slices.Concat(OfRuns(), OfQueues()) {
		names := []string{d.Name}
		if d.Kind == "histogram" {
			names = []string{d.Name + "_bucket", d.Name + "_sum", d.Name + "_count"}
		}
		for _, name := range names {
			labels[name] = d.Labels
		}
	}
	asked := map[string]bool{}
	check := func(file string, expr *regexp.Regexp, least int) {
		text, err := os.ReadFile("../../../contrib/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := expr.FindAllStringSubmatch(string(text), -1)
		if len(found) < least {
			t.Errorf("%s: only %d expressions are found", file, len(found))
		}
		for _, e := range found {
			names := metricName.FindAllString(e[1], -1)
			if len(names) == 0 && e[1] != "prometheus" {
				t.Errorf("%s: %s asks for no metric", file, e[1])
			}
			for _, name := range names {
				asked[name] = true
				if _, is := labels[name]; !is {
					t.Errorf("%s: there is no %s", file, name)
				}
			}
			for _, selected := range labelOfName.FindAllStringSubmatch(e[1], -1) {
				name, _, _ := strings.Cut(selected[0], "{")
				for _, l := range labelName.FindAllStringSubmatch(selected[2], -1) {
					if !slices.Contains(append([]string{"table", "server"}, labels[name]...), l[1]) {
						t.Errorf("%s: %s has no label %s", file, name, l[1])
					}
				}
			}
		}
	}
	check("prometheus/alerts.yml", alertExpr, 5)
	check("grafana/midstream.json", panelExpr, 30)
	left := []string{
		"midstream_rows_estimated", "midstream_build_ratio", "midstream_commands_total",
		"midstream_phase_seconds_total", "midstream_throttled", "midstream_run_up", "midstream_chunk_seconds_sum",
		"midstream_chunk_seconds_count", "midstream_lock_wait_seconds_bucket",
	}
	for name := range labels {
		if !asked[name] && !slices.Contains(left, name) {
			t.Errorf("nothing in contrib asks for %s", name)
		}
	}
}
