package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/record"
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
func (s *stream) send(id, name string, data []byte) error {
	var text bytes.Buffer
	if name != "" {
		fmt.Fprintf(&text, "event: %s\n", name)
	}
	if id != "" {
		fmt.Fprintf(&text, "id: %s\n", id)
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
	return s.clock("heartbeat")
}

// clock sends the time, by which a page counts ages.
func (s *stream) clock(name string) error {
	return s.send("", name, []byte(`{"at":"`+time.Now().UTC().Format(record.RFC3339)+`"}`))
}

// events sends a reader the records of a run so far, and then the new ones until the run ends. A
// record is as in docs/events.md, with a field told (for people; of a plan also html), and has its
// number in the history as its id. In between come events by the name status (the state of the run)
// or waiting (why it has not begun), and at last end. The stream ends with the reader's session.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, _, err := s.source.Histories(r.Context(), id); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	f := follower{
		server: s, id: id, after: placeOf(r.Header.Get("Last-Event-ID")),
		out:    &stream{writer: w, control: http.NewResponseController(w)},
		status: standing{heard: time.Now()},
	}
	defer f.close()
	if f.out.write([]byte("retry: 2000\n\n")) != nil || f.out.clock("clock") != nil {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		closing := s.isClosing() // before the step: the reader still gets the last records
		over, err := f.step(r.Context())
		if err != nil || f.out.control.Flush() != nil || over || closing || !s.known(r) {
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

// queueEvents sends the events of the queue until the server closes, or the token or session no longer opens.
func (s *Server) queueEvents(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for s.known(r) {
			select {
			case <-ctx.Done():
				return
			case <-s.closing:
				cancel()
				return
			case <-look.C:
			}
		}
		cancel()
	}()
	s.source.Stream.ServeHTTP(w, r.WithContext(ctx))
}

// known reports whether the token or the session of a request still opens.
func (s *Server) known(r *http.Request) bool {
	_, known := s.gate.who(r)
	return known
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
	after  place // of the last record that the reader has
	out    *stream
	status standing

	lines    []tail
	members  []string // the tables of a group, as far as they are known
	at       place
	progress map[int]event.Progress // the newest of each table
	passed   passed                 // of each table
}

// place is how many records were sent of each history.
type place []int

// placeOf reads the id of an event; what makes no sense is the beginning.
func placeOf(id string) (p place) {
	for part := range strings.SplitSeq(id, ".") {
		n, _ := strconv.Atoi(part)
		p = append(p, n)
	}
	return p
}

func (p place) String() string {
	texts := make([]string, len(p))
	for i, n := range p {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ".")
}

func (f *follower) close() {
	for i := range f.lines {
		f.lines[i].close()
	}
}

// step sends what is new, and reports whether that was the end.
func (f *follower) step(ctx context.Context) (over bool, err error) {
	paths, over, err := f.server.source.Histories(ctx, f.id)
	if err != nil {
		return false, err
	}
	if err := f.read(paths); err != nil {
		return false, err
	}
	if over {
		path := ""
		if len(paths) > 0 {
			path = paths[0]
		}
		return true, f.out.send("", "end", f.server.ending(path))
	}
	if err := f.status.tell(ctx, f.server, f.id, len(paths) > 0, f.passed, f.out); err != nil {
		return false, err
	}
	return false, f.out.beat()
}

// fresh is a line of one of the histories.
type fresh struct {
	of, number int
	at         time.Time
	text       []byte
}

// read sends the new lines of the histories, those of a group in the order of their times.
func (f *follower) read(paths []string) error {
	if len(f.lines) != len(paths) {
		f.close()
		f.lines, f.at, f.members = make([]tail, len(paths)), make(place, len(paths)), make([]string, len(paths))
		f.progress, f.passed = map[int]event.Progress{}, make(passed, len(paths))
	}
	if len(paths) == 1 {
		return f.lines[0].read(paths[0], func(number int, line []byte) error { return f.record(fresh{number: number, text: line}) })
	}
	var all []fresh
	for i, path := range paths {
		take := func(number int, line []byte) error {
			all = append(all, fresh{i, number, record.At(line), line})
			return nil
		}
		if err := f.lines[i].read(path, take); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b fresh) int { return a.at.Compare(b.at) })
	for _, one := range all {
		if err := f.record(one); err != nil {
			return err
		}
	}
	return nil
}

// record sends a line of a history, unless the reader has it.
func (f *follower) record(one fresh) error {
	f.at[one.of] = one.number
	f.passed[one.of].take(one.text)
	line := one.text
	if len(f.lines) > 1 {
		line = f.ofGroup(one)
	}
	if one.of < len(f.after) && one.number <= f.after[one.of] {
		return nil
	}
	return f.out.send(f.at.String(), "", told(line, f.members[one.of]))
}

// ofGroup is a record of a table's run as the group has it: its progress is the sum for all tables.
func (f *follower) ofGroup(one fresh) []byte {
	if one.number == 1 {
		var run record.Run
		if json.Unmarshal(one.text, &run) == nil {
			f.members[one.of] = run.Table
		}
		return one.text
	}
	e, _, err := record.Read(one.text)
	p, is := e.(event.Progress)
	if !is || err != nil {
		return one.text
	}
	f.progress[one.of] = p
	var all []event.Progress
	for _, of := range slices.Sorted(maps.Keys(f.progress)) {
		all = append(all, f.progress[of])
	}
	if line, err := json.Marshal(record.Of(groups.Sum(all, p.Phase))); err == nil {
		return line
	}
	return one.text
}

// standing is the state of a run as a reader knows it.
type standing struct {
	at    time.Time // of the last request
	heard time.Time // of the last answer
	last  []byte    // sent last
}

// tell sends the state of a run, or why it has not begun, if that has changed. It sends nothing of a
// run that does not answer for a moment.
func (t *standing) tell(ctx context.Context, s *Server, id string, begun bool, passed passed, out *stream) error {
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
	now, err := s.now(ctx, id, passed)
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
	return out.send("", name, text)
}
