package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"midstream/internal/mysql/escape"
)

const (
	// lookEvery is the time between two reads of a history.
	lookEvery = 250 * time.Millisecond
	// statusEvery is the time between two requests for the state of a run.
	statusEvery = time.Second
	// heartbeat bounds the silence of a stream. An event of that name then shows that the connection lives.
	heartbeat = 10 * time.Second
	// silence is how long a run may leave requests unanswered before a reader learns of it.
	silence = 10 * time.Second
)

// stream writes server-sent events to one reader, by the goroutine of its request: a run never waits for a reader.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	wrote   time.Time
}

// send writes an event. Without an id, the reader keeps its last one; without a name, the event is a record.
func (s *stream) send(id int, name string, data []byte) error {
	var text bytes.Buffer
	if name != "" {
		fmt.Fprintf(&text, "event: %s\n", name)
	}
	if id > 0 {
		fmt.Fprintf(&text, "id: %d\n", id)
	}
	fmt.Fprintf(&text, "data: %s\n\n", escape.Text(string(data)))
	return s.write(text.Bytes())
}

func (s *stream) write(text []byte) error {
	s.wrote = time.Now()
	_, err := s.writer.Write(text)
	return err
}

// beat sends a heartbeat if the stream was silent for too long.
func (s *stream) beat() error {
	if time.Since(s.wrote) <= heartbeat {
		return nil
	}
	return s.send(0, "heartbeat", []byte("{}"))
}

// events sends a reader the records of a run so far, and then the new ones until the run ends. A
// record is as in docs/events.md, with a field told (for people; of a plan also html), and has its
// number in the history as its id. In between come events by the name status (the state of the run)
// or waiting (why it has not begun), and at last end. The stream ends with the reader's session.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID")) // none: 0
	if _, _, err := s.source.History(r.Context(), id); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	f := follower{
		server: s, id: id, after: after,
		out:    &stream{writer: w, control: http.NewResponseController(w)},
		status: standing{heard: time.Now()},
	}
	defer f.lines.close()
	if f.out.write([]byte("retry: 2000\n\n")) != nil {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		closing := s.isClosing() // before the step: the reader still gets the last records
		over, err := f.step(r.Context())
		if err != nil || f.out.control.Flush() != nil || over || closing || !s.access.allowed(r) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.closing:
		case <-look.C:
		}
	}
}

func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// follower is a reader of one run.
type follower struct {
	server *Server
	id     string
	after  int // the number of the last record that the reader has
	out    *stream
	lines  tail
	status standing
}

// step sends what is new, and reports whether that was the end.
func (f *follower) step(ctx context.Context) (over bool, err error) {
	path, over, err := f.server.source.History(ctx, f.id)
	if err != nil {
		return false, err
	}
	if err := f.lines.read(path, f.record); err != nil {
		return false, err
	}
	if over {
		return true, f.out.send(0, "end", f.server.ending(path))
	}
	if err := f.status.tell(ctx, f.server, f.id, path != "", f.out); err != nil {
		return false, err
	}
	return false, f.out.beat()
}

// record sends a line of the history, unless the reader has it.
func (f *follower) record(number int, line []byte) error {
	if number <= f.after {
		return nil
	}
	return f.out.send(number, "", told(line))
}

// standing is the state of a run as a reader knows it.
type standing struct {
	at    time.Time // of the last request
	heard time.Time // of the last answer
	last  []byte    // sent last
}

// tell sends the state of a run, or why it has not begun, if that has changed. It sends nothing of a
// run that does not answer for a moment.
func (t *standing) tell(ctx context.Context, s *Server, id string, begun bool, out *stream) error {
	if time.Since(t.at) < statusEvery {
		return nil
	}
	t.at = time.Now()
	if !begun {
		waits, err := s.waiting(ctx, id)
		if err != nil {
			return ctx.Err()
		}
		t.heard = t.at
		return t.send(out, "waiting", waits)
	}
	now, err := s.now(ctx, id)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		t.heard = t.at
	case time.Since(t.heard) < silence:
		return nil
	default:
		now = silent(t.heard, err)
	}
	return t.send(out, "status", now)
}

// send sends an event unless it equals the last one.
func (t *standing) send(out *stream, name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil || bytes.Equal(text, t.last) {
		return err
	}
	t.last = text
	return out.send(0, name, text)
}
