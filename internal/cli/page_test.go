package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// looking is somebody at the pages of a run or a queue, with a token.
type looking struct {
	t          *testing.T
	url, token string
}

func (l *looking) do(method, path, body string) *http.Response {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { response.Body.Close() })
	return response
}

// gets is the answer, which must be a good one.
func (l *looking) gets(method, path, body string, texts ...string) string {
	l.t.Helper()
	response := l.do(method, path, body)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		l.t.Fatalf("%s %s: %s %v\n%s", method, path, response.Status, err, text)
	}
	contains(l.t, string(text), texts...)
	return string(text)
}

// pageAt is where a run has said that its page is.
var pageAt = regexp.MustCompile(`the page of the run is at (\S+); its access token is in (\S+)`)

// page is the page of the run.
func (c *controlling) page() *looking {
	c.t.Helper()
	c.run.await(&c.run.stderr, "its access token is in")
	at := pageAt.FindStringSubmatch(c.run.stderr.String())
	token, err := os.ReadFile(at[2])
	if err != nil {
		c.t.Fatal(err)
	}
	return &looking{c.t, at[1], strings.TrimSpace(string(token))}
}

// The story of a run at its page, without a browser: numbers move, it is paused, goes on, is held
// and cut over, and the end has the report.
func TestPageOfARun(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 30_000, "--listen=127.0.0.1:0", "--hold", "--full-speed", "--copy-share=5%", "--history-dir="+filepath.Join(t.TempDir(), "h"))
	l := c.page()
	l.gets("GET", "/changes/run", "", c.name, "Cut over", "Limit the row copy to")
	stream := l.do("GET", "/v1/changes/run/events", "")
	lines := bufio.NewReader(stream.Body)
	next := func() (name string, data []byte) { // of the next event
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("the events have ended: %v\n%s", err, &c.run.stderr)
			}
			if word, is := strings.CutPrefix(line, "event: "); is {
				name = strings.TrimSpace(word)
			}
			if word, is := strings.CutPrefix(line, "data: "); is {
				return name, []byte(word)
			}
		}
	}
	rows, seen := []int64{}, map[string]bool{}
	for len(rows) < 3 || rows[len(rows)-1] <= rows[0] { // it moves
		name, data := next()
		var told struct {
			Event string
			Told  string
			Rows  int64 `json:"rows_copied"`
		}
		if err := json.Unmarshal(data, &told); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		seen[name+told.Event] = true
		if told.Event == record.NameProgress && told.Rows > 0 {
			contains(t, told.Told, "copy: ")
			rows = append(rows, told.Rows)
		}
	}
	if !seen["run"] || !seen["plan"] || !seen["phase"] {
		t.Errorf("seen %v", seen)
	}
	l.gets("POST", "/v1/changes/run/pause", "{}", "the run is paused", "a user of the page, from 127.0.0.1")
	l.gets("GET", "/parts/changes/run/blockers", "", c.name)
	l.gets("GET", "/v1/changes/run/report.html", "", "unfinished: at work, or killed")
	l.gets("GET", "/metrics", "", "midstream_")
	var status socket.Status
	if err := json.Unmarshal([]byte(l.gets("GET", "/v1/changes/run/status", "")), &status); err != nil || status.State != "paused" {
		t.Errorf("%v %+v", err, status)
	}
	l.gets("POST", "/v1/changes/run/resume", "{}", "resumed")
	l.gets("POST", "/v1/changes/run/throttle", `{"share":"100%"}`, "no limit any more")
	c.await("hold", func() bool { return c.status().State == "held" })
	l.gets("POST", "/v1/changes/run/cutover", `{"now":true}`)
	for {
		name, data := next()
		if name != "end" {
			continue
		}
		contains(t, string(data), `"state":"done"`, "Predicted and actual", "Left on the server")
		break
	}
	if code := c.run.exit(); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	if _, err := http.Get(l.url + "/healthz"); err == nil {
		t.Error("the page is there still")
	}
	if strings.Contains(c.run.stderr.String()+c.run.stdout.String(), l.token) {
		t.Error("the token is told")
	}
}

// What can't be, and a port that is taken, is said before anything is done.
func TestPageRefused(t *testing.T) {
	sideBySide(t)
	code, _, stderr := midstream(t, "run", "ALTER TABLE a.b ADD COLUMN c INT", "--listen=0.0.0.0:1", "--no-history", "--no-control")
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(
		t, stderr, "name a file with a token by --token-file", "--insecure-http", "--listen and --no-control exclude",
		"--listen and --no-history exclude",
	)
}
