package socket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/access"
)

// Client talks to one run of this machine.
type Client struct {
	// Found is how the run stood when it was found.
	Found Status
	http  *http.Client
}

// patience is how long a run is waited for that shall say how it stands.
const patience = 5 * time.Second

// ErrKilled means that the process of a run is gone, and has reported no result.
var ErrKilled = errors.New("its process was killed or has crashed")

// Find returns the runs whose sockets are in a folder, in the order of their tables' names. Sockets on which nobody
// answers any more are removed. It fails with ErrFolder.
func Find(ctx context.Context, folder string) (found []*Client, err error) {
	if err := ask(ctx, folder, func(c *Client) bool { found = append(found, c); return true }); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *Client) int { return strings.Compare(a.Found.Table, b.Found.Table) })
	return found, nil
}

// OfTable are the runs on a table: in another letter case only if there is none in this one, and the server tells no cases
// apart.
func OfTable(runs []*Client, table string) []*Client {
	called := func(r *Client) bool { return r.Found.Table == table }
	if !slices.ContainsFunc(runs, called) {
		called = func(r *Client) bool { return r.Found.AnyCase && strings.EqualFold(r.Found.Table, table) }
	}
	return slices.DeleteFunc(runs, func(r *Client) bool { return !called(r) })
}

// OneOfEach leaves one run of each group that swaps in one step.
func OneOfEach(runs []*Client) (some []*Client) {
	for _, r := range runs {
		if !slices.ContainsFunc(some, func(other *Client) bool {
			return other.Found.Process == r.Found.Process && slices.Contains(other.Found.Together, r.Found.Table)
		}) {
			some = append(some, r)
		}
	}
	return some
}

// Active returns what reports whether one of the runs works on a table of a server.
func Active(runs []*Client) func(server, table string) bool {
	return func(server, table string) bool {
		return slices.ContainsFunc(runs, func(r *Client) bool { return r.Found.Server == server && r.Found.Table == table })
	}
}

// Tables are the tables of runs, as a shell may offer them: without those that it could not complete.
func Tables(runs []*Client) (names []string) {
	for _, r := range runs {
		if escape.Line(r.Found.Table) == r.Found.Table {
			names = append(names, r.Found.Table)
		}
	}
	return slices.Compact(names)
}

// FindProcess returns the runs of a process whose sockets are in a folder, by the names of their tables, as soon as they answer: one,
// or all of a group. It fails with ErrFolder.
func FindProcess(ctx context.Context, folder string, process int) (runs []*Client, err error) {
	err = ask(ctx, folder, func(c *Client) bool {
		if c.Found.Process == process {
			runs = append(runs, c)
		}
		return len(runs) == 0 || len(runs) <= len(runs[0].Found.Together)
	})
	slices.SortFunc(runs, func(a, b *Client) int { return strings.Compare(a.Found.Table, b.Found.Table) })
	return runs, err
}

// ask asks all runs of a folder at once how they stand, so that one that stands still holds up no
// other, and hands over those that answer, one after the other, for as long as more are wanted.
// Sockets on which nobody answers any more are removed.
func ask(ctx context.Context, folder string, more func(*Client) bool) error {
	if err := checkFolder(folder); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	asking, enough := context.WithTimeout(ctx, patience)
	defer enough()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".sock" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		all.Go(func() {
			c := dial(func() string { return path })
			err := c.Call(asking, http.MethodGet, "status", nil, &c.Found)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(asking.Err(), context.Canceled): // enough are there, or whoever has asked is gone
			case err != nil:
				_ = locked(folder, func() error { removeDead(path); return nil })
			case !more(c):
				enough()
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// dial makes the client of a run that answers where at says.
func dial(at func() string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // whoever looks for runs again and again shall not keep a connection each time
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", at())
		},
	}}}
}

// Call does a request and reads its answer. What the run refuses is a *Problem.
func (c *Client) Call(ctx context.Context, method, operation string, body, answer any) error {
	response, err := c.do(ctx, method, operation, body)
	if err == nil {
		defer response.Body.Close()
		err = ReadAnswer(response, answer)
	}
	var p *Problem
	if err != nil && !errors.As(err, &p) {
		return fmt.Errorf("ask the run of %s: %w", c.Found.Table, err)
	}
	return err
}

// ReadAnswer reads an answer. What was not done is a *Problem.
func ReadAnswer(response *http.Response, answer any) error {
	if response.StatusCode/100 != 2 {
		p := &Problem{}
		if err := json.NewDecoder(response.Body).Decode(p); err != nil || p.Title == "" {
			return fmt.Errorf("the answer is %s", response.Status)
		}
		return p
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// Events hands over each record that the run tells, until it ends.
func (c *Client) Events(ctx context.Context, take func(line []byte)) error {
	response, err := c.do(ctx, http.MethodGet, "events", nil)
	if err != nil {
		return fmt.Errorf("watch the run of %s: %w", c.Found.Table, err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err == nil {
			take(line)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return context.Cause(ctx)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("watch the run of %s: %w. The command that began it resumes it", c.Found.Table, ErrKilled)
		}
		return fmt.Errorf("watch the run of %s: %w", c.Found.Table, err)
	}
}

// Metrics is what the run tells Prometheus. REQUIRES: it is closed.
func (c *Client) Metrics(ctx context.Context) (io.ReadCloser, error) {
	request, err := Request(ctx, http.MethodGet, "http://run/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the run of %s: %w", c.Found.Table, err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("ask the run of %s: the answer is %s", c.Found.Table, response.Status)
	}
	return response.Body, nil
}

func (c *Client) do(ctx context.Context, method, operation string, body any) (*http.Response, error) {
	request, err := Request(ctx, method, "http://run/v1/"+operation, body)
	if err != nil {
		return nil, err
	}
	if by := access.ByOf(ctx); by != "" {
		request.Header.Set(access.Header, by)
	}
	return c.http.Do(request)
}

// Request is one with a body of JSON; nil for none.
func Request(ctx context.Context, method, url string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, content)
	if err == nil && body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, err
}
