package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/metrics"
	"midstream/internal/ops/record"
)

func metricsPage() string {
	var b strings.Builder
	b.WriteString(generated + "# Metrics\n\nA run has metrics in Prometheus's format:\n\n" +
		"- at `/metrics` of its control socket, while it is at work: `curl --unix-socket PATH http://run/metrics` (`midstream status --json` prints the path);\n" +
		"- in the file of `--metrics-file NAME.prom`, for the textfile collector of node_exporter.\n" +
		"  The run replaces it every 5 s and at the end, and leaves it with the outcome.\n  Use one file for each run; with `--to` it has the table that is changed now;\n" +
		"- at `/metrics` of `midstream run --listen`, with its token, while it is at work;\n" +
		"- at `/metrics` of `midstream serve`, with its token: the queue, and all runs that are at work, each with the label `change`.\n\n" +
		"```\nscrape_configs:\n  - job_name: midstream\n    scrape_interval: 5s\n    authorization:\n      credentials_file: /etc/prometheus/midstream.token\n    static_configs:\n      - targets: [\"127.0.0.1:8385\"]\n```\n\n" +
		"`contrib/grafana/midstream.json` is a dashboard, `contrib/prometheus/alerts.yml` has alerts; a test compares both with this list.\n\n" +
		"Names, labels and units are stable: later versions may add others, and rename or drop none.\nTimes are in seconds, sizes in bytes, ratios from 0 to 1.\nAn unknown value has no sample.\n" +
		"Numbers of rows and changes begin at zero again with each attempt of a run that has lost its server.\n" +
		"Labels have few values; each metric of a run also has `table` (database.table) and `server` (host:port, or the path of a socket).\n" +
		"A run also has the usual metrics of its process (`process_cpu_seconds_total`, `process_resident_memory_bytes`, ...).\n")
	table := func(title string, list []metrics.Description) {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", title)
		for _, d := range list {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Kind, strings.Join(d.Labels, ", "), d.Help)
		}
	}
	table("Of a run", metrics.OfRuns())
	table("Of a queue", metrics.OfQueues())
	return b.String()
}

// sample is a line of Prometheus's format: name, labels, value.
var sample = regexp.MustCompile(`(?m)^(\w+)(\{.*\})? (\S+)$`)

// samplesOf are the values by name and labels, without those that every metric of a run has.
func samplesOf(t *testing.T, text, table string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	own := regexp.MustCompile(`server="[^"]*",table="` + regexp.QuoteMeta(table) + `",?`)
	for _, line := range sample.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil || !own.MatchString(line[2]) {
			t.Errorf("%s: %v", line[0], err)
		}
		all[line[1]+strings.ReplaceAll(own.ReplaceAllString(line[2], ""), ",}", "}")] = value
	}
	return all
}

// scrape asks a run on its socket for its metrics.
func (c *controlling) scrape() map[string]float64 {
	c.t.Helper()
	socket := c.status().Socket
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get("http://run/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s, %v\n%s", answer.Status, err, text)
	}
	return samplesOf(c.t, string(text), c.name)
}

// TestMetricsOfARun: the numbers move while it is at work, agree with what it tells at its end, and
// are all in docs/metrics.md.
func TestMetricsOfARun(t *testing.T) { // alone: next to the writers of other tests its copy would give way
	mysqltest.Seldom(t)
	c := toControl(t, 60_000)
	file := filepath.Join(t.TempDir(), "orders.prom")
	c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method=shadow", "--hold", "--json", "--chunk-time=10ms",
		"--metrics-file="+file, "--lock-work=2s") // a busy machine needs no second attempt
	var first map[string]float64
	c.await("rows that are copied", func() bool {
		first = c.scrape()
		return first["midstream_rows_copied_total{}"] > 0 && first[`midstream_phase{phase="copy"}`] == 1
	})
	c.phase("hold")
	c.obeys("pause", nil)
	c.await("the pause", func() bool { return c.scrape()[`midstream_throttled{gate="paused"}`] == 1 })
	before := c.scrape()
	c.await("time at the gate", func() bool {
		return c.scrape()[`midstream_throttled_seconds_total{gate="paused"}`] > before[`midstream_throttled_seconds_total{gate="paused"}`]
	})
	c.await("changes in the backlog", func() bool { return c.scrape()["midstream_backlog_keys{}"] > 0 })
	c.obeys("resume", nil)
	then := c.scrape()
	for _, name := range []string{"midstream_rows_copied_total{}", "midstream_changes_captured_total{}", "midstream_elapsed_seconds{}", "midstream_chunk_seconds_count{}", `midstream_phase_seconds_total{phase="copy"}`} {
		if then[name] <= first[name] {
			t.Errorf("%s was %v and is %v", name, first[name], then[name])
		}
	}
	c.obeys("cutover", nil)
	if code := c.run.exit(); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	var result record.Result
	lines := strings.Split(strings.TrimSpace(c.run.stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	last := samplesOf(t, string(text), c.name)
	for name, want := range map[string]float64{
		`midstream_run_ended{outcome="done"}`: 1, "midstream_rows_copied_total{}": float64(result.RowsCopied), "midstream_rows_verified_total{}": float64(result.Verified),
		"midstream_changes_captured_total{}": float64(result.Captured), "midstream_changes_applied_total{}": float64(result.Applied), "midstream_changes_merged_total{}": float64(result.Merged),
		"midstream_binlog_read_bytes_total{}": float64(result.BinlogReadBytes), `midstream_lock_attempts_total{outcome="granted"}`: 1,
		"midstream_lock_held_seconds{}": result.LockHeldMS.Duration().Seconds(), "midstream_mismatches_total{}": 0, `midstream_phase{phase="done"}`: 0,
	} {
		if math.Abs(last[name]-want) > 1e-6 { // the result's times are rounded to the microsecond
			t.Errorf("%s is %v instead of %v", name, last[name], want)
		}
	}
	page := metricsPage()
	for name := range last {
		name, _, _ = strings.Cut(name, "{")
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		if !strings.HasPrefix(name, "process_") && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/metrics.md does not tell of %s", name)
		}
	}
}

// TestMetricsFileThatCantBe: it is said before anything is written.
func TestMetricsFileThatCantBe(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 10)
	args := slices.Concat([]string{"run", "--metrics-file=/dev/null/x.prom", "ALTER TABLE " + c.name + " ADD COLUMN c INT"}, flagsTo(t, c.i))
	code, stdout, stderr := midstream(t, args...)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	contains(t, stderr, "write the metrics", "nothing was written", "--metrics-file")
}

// TestMetricsOfAQueue: midstream serve tells of its queue and of each run that is at work, to those
// who have the token.
func TestMetricsOfAQueue(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 20_000)
	q.serve()
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	scrape := func(token string, want int) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, q.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != want {
			t.Fatalf("%s, %v\n%s", answer.Status, err, text)
		}
		return string(text)
	}
	await := func(wants ...string) (text string) {
		t.Helper()
		until(t, func() string { return fmt.Sprintf("%s:\n%s\n%s", wants, text, &q.daemon.stdout) }, func() bool {
			text = scrape(strings.TrimSpace(string(token)), http.StatusOK)
			return !slices.ContainsFunc(wants, func(want string) bool { return !regexp.MustCompile(want).MatchString(text) })
		})
		return text
	}
	q.submit("first", q.name+" ADD COLUMN c INT", held...)
	await(
		`midstream_changes{state="running"} 1`, `midstream_run_up{change="first"} 1`, `midstream_sets{state="running"} 0`,
		`midstream_rows_copied_total{change="first",server="`+q.i.Address+`",table="`+q.name+`"} [1-9]`,
		`midstream_phase{change="first",phase="hold",.*} 1`,
	)
	if text := scrape("another", http.StatusUnauthorized); strings.Contains(text, "midstream_") {
		t.Errorf("it tells strangers:\n%s", text)
	}
	q.obeys("cutover", nil)
	if text := await(
		`midstream_changes{state="running"} 0`,
		`midstream_changes{state="done"} 1`,
	); strings.Contains(
		text, "midstream_run_up",
	) {
		t.Errorf("a run is told that is over:\n%s", text)
	}
	q.daemon.interrupt()
	q.daemon.exit()
}
