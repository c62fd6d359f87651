package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"midstream/internal/mysql/escape"
)

const (
	// lookEvery is the time between two looks at what a run has told.
	lookEvery = 250 * time.Millisecond
	// statusEvery is the time between two questions to a run how it stands.
	statusEvery = time.Second
	// heartbeat is how long a stream is silent at most: a reader sees that the connection lives, by
	// an event of that name.
	heartbeat = 10 * time.Second
	// silence is how long a run may leave questions unanswered before a reader is told.
	silence = 10 * time.Second
)

// tail reads lines of a file that grows. Its zero value has none yet.
type tail struct {
	path  string
	file  *os.File
	begun []byte // of a line whose end is not written yet
	lines int    // that were read
}

// read hands over the lines that were not read yet.
func (t *tail) read(path string, take func(number int, line []byte) error) error {
	if path != t.path {
		t.close()
		*t = tail{path: path}
	}
	if t.path == "" {
		return nil
	}
	if t.file == nil {
		file, err := os.Open(t.path)
		if err != nil {
			return fmt.Errorf("read what the run has told: %w", err)
		}
		t.file = file
	}
	buffer := make([]byte, 1<<16)
	for {
		n, err := t.file.Read(buffer)
		t.begun = append(t.begun, buffer[:n]...)
		for {
			end := bytes.IndexByte(t.begun, '\n')
			if end < 0 {
				break
			}
			t.lines++
			if err := take(t.lines, t.begun[:end]); err != nil {
				return err
			}
			t.begun = t.begun[end+1:]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what the run has told: %w", err)
		}
	}
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// stream writes server-sent events to one reader, by the goroutine of its request: a run never waits for one.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	wrote   time.Time
}

// send writes an event; without an id the reader's last one holds, without a name it is a record.
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

// events tells a reader all that a run has told, and then what it tells, until it ends: records of
// docs/events.md with a field told (for people; of a plan also html), numbered as in the history;
// between them, named status, how the run stands, or named waiting, why it has not begun; and at
// last end. It ends with the session of the reader.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID")) // 0 where there is none
	if _, _, err := s.source.History(r.Context(), id); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{writer: w, control: http.NewResponseController(w)}
	if out.write([]byte("retry: 2000\n\n")) != nil {
		return
	}
	var lines tail
	defer func() { lines.close() }()
	status := standing{heard: time.Now()}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		closing := s.isClosing() // first: what comes before is told
		path, over, err := s.source.History(r.Context(), id)
		if err == nil {
			err = lines.read(path, func(number int, line []byte) error {
				if number <= after {
					return nil
				}
				return out.send(number, "", told(line))
			})
		}
		if err == nil && over {
			err = out.send(0, "end", s.ending(path))
		} else if err == nil {
			err = status.tell(r.Context(), s, id, path != "", out)
		}
		if err == nil && time.Since(out.wrote) > heartbeat {
			err = out.send(0, "heartbeat", []byte("{}"))
		}
		if err != nil || out.control.Flush() != nil || over || closing || !s.access.allowed(r) {
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

// standing is what a reader was told of how a run stands.
type standing struct {
	at    time.Time // of the last question
	heard time.Time // of the last answer
	last  []byte
}

// tell tells how a run stands, or why it has not begun, if that has changed. Of a run that does not
// answer for a moment nothing is told.
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

// send sends what is not what was sent last.
func (t *standing) send(out *stream, name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil || bytes.Equal(text, t.last) {
		return err
	}
	t.last = text
	return out.send(0, name, text)
}
