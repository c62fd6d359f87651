package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"midstream/internal/ops/audit"
	"midstream/internal/ops/socket"
)

// Audit returns entries of the journal, the newest first.
func (c *Client) Audit(ctx context.Context, q AuditQuestion) (list []audit.Entry, err error) {
	values := url.Values{
		"before": {strconv.FormatUint(q.Before, 10)}, "most": {strconv.Itoa(q.Most)}, "states": {strconv.FormatBool(q.States)},
	}
	if q.Change != "" {
		values.Set("change", q.Change)
	}
	if q.Who != "" {
		values.Set("who", q.Who)
	}
	err = c.Call(ctx, http.MethodGet, "audit?"+values.Encode(), nil, &list)
	return list, err
}

// Watch hands over each entry of the journal after a number, 0 for the new ones, until ctx ends. If the service is away, it comes
// back with the number of the last entry, so none is missed; it gives up after five minutes.
func (c *Client) Watch(ctx context.Context, after uint64, each func(audit.Entry)) error {
	heard := time.Now()
	for {
		err := c.read(ctx, &after, func(e audit.Entry) { heard = time.Now(); each(e) })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!Away(err) || time.Since(heard) > absence):
			return err
		case err == nil:
			heard = time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// read reads one stream to its end.
func (c *Client) read(ctx context.Context, after *uint64, each func(audit.Entry)) error {
	headers := map[string]string{"Accept": "application/x-ndjson"}
	if *after > 0 {
		headers["Last-Event-ID"] = strconv.FormatUint(*after, 10)
	}
	response, err := c.ask(ctx, http.MethodGet, "events", nil, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return socket.ReadAnswer(response, nil)
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the stream has ended, or broke
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the events of the queue: %w", err)
		}
		*after = e.ID
		each(e)
	}
}
