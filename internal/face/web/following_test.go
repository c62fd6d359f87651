package web_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
)

// sent is a server-sent event; the name of a record is that of its event.
type sent struct{ id, name, data string }

type following struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Reader
}

func (s *site) follow(after string) *following { return s.followAs(withToken, after) }

func (s *site) followAs(who func(*http.Request), after string) *following {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/v1/changes/run/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	who(r)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		s.t.Fatalf("%s %s", response.Status, got)
	}
	return &following{s.t, response.Body, bufio.NewReader(response.Body)}
}

// next is the next event; its name is "" when there is none any more.
func (f *following) next() (e sent) {
	f.t.Helper()
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return sent{}
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.data == "" {
				continue
			}
			if e.name == "" {
				var head record.Head
				if err := json.Unmarshal([]byte(e.data), &head); err != nil {
					f.t.Fatalf("%v: %s", err, e.data)
				}
				e.name = head.Event
			}
			if e.name == "clock" {
				e = sent{}
				continue
			}
			return e
		}
	}
}

func (f *following) all() (list []sent) {
	for e := f.next(); e.name != ""; e = f.next() {
		list = append(list, e)
	}
	return list
}

// await is the next event of a name.
func (f *following) await(name string) sent {
	f.t.Helper()
	for e := f.next(); e.name != ""; e = f.next() {
		if e.name == name {
			return e
		}
	}
	f.t.Fatalf("no %s", name)
	return sent{}
}

// Events come from the beginning and then as they happen, after a break from where a reader was,
// and end with the run.
func TestEvents(t *testing.T) {
	s := open(t, nil)
	s.begin()
	s.writer.Show(event.PhaseEntered{Phase: event.PhaseCopy, At: time.Now()})
	one := s.follow("")
	if e := one.next(); e.name != "run" || e.id != "1" {
		t.Errorf("%v", e)
	}
	if e := one.await("phase"); e.id != "2" || !strings.Contains(e.data, `"told":"2/5 copy: copying rows and applying changes"`) {
		t.Errorf("%v", e)
	}
	var now struct {
		State, Text, Share string
		Fraction           float64
		Tiles              []struct{ Name, Value string }
		Remedy             string
		Head               struct{ Word string }
		Steps              []struct{ Name, State string }
	}
	if err := json.Unmarshal(
		[]byte(one.await("status").data),
		&now,
	); err != nil || now.State != "blocked" || now.Fraction != .5 || now.Share != "30%" || now.Head.Word != "blocked" ||
		!strings.Contains(now.Text, "copy: 50 %  1,500 of 3,000") || now.Tiles[0].Value != "1,500 of 3,000" ||
		!strings.Contains(now.Remedy, "KILL 77") || len(now.Steps) != 5 || now.Steps[1].State != "now" {
		t.Errorf("%v %+v", err, now)
	}
	s.writer.Show(event.LockAttempt{Number: 1, Granted: true, Waited: time.Millisecond, At: time.Now()}) // while it is followed
	if e := one.await("lock_attempt"); e.id != "3" || !strings.Contains(e.data, "cut over: lock attempt 1 granted after 1.0 ms") {
		t.Errorf("%v", e)
	}
	one.body.Close()
	again := s.follow("2")
	if e := again.next(); e.name != "lock_attempt" || e.id != "3" {
		t.Errorf("after 2: %v", e)
	}
	slow := s.follow("") // reads nothing until the run is over
	result := record.Result{Head: record.HeadOf(record.NameResult, time.Now()), Outcome: "done", ElapsedMS: 1500}
	s.writer.Write(result)
	if err := s.writer.Close(); err != nil {
		t.Fatal(err)
	}
	s.run.End(result)
	if e := again.await("result"); e.id != "4" || !strings.Contains(e.data, `"told":"done, after 1.5 s"`) {
		t.Errorf("%v", e)
	}
	if e := again.next(); e.name != "end" || !strings.Contains(e.data, `"state":"done","head":"ended at `) ||
		!strings.Contains(e.data, "Left on the server") {
		t.Errorf("%v", e)
	}
	if e := again.next(); e.name != "" {
		t.Errorf("behind the end: %v", e)
	}
	if list := slow.all(); list[len(list)-1].name != "end" {
		t.Errorf("the slow one: %v", list)
	}
	s.wants(409, "POST", "/v1/changes/run/pause", withToken, "it has ended")
	s.wants(200, "GET", "/parts/changes", withToken, "done, after 1.5 s")
}

// TestAStreamEndsWithItsSession: who has logged out sees no more of a run in another tab.
func TestAStreamEndsWithItsSession(t *testing.T) {
	s := open(t, nil)
	s.begin()
	entered, _ := s.ask(
		"POST", "/login", url.Values{"token": {token}}.Encode(),
		func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
	)
	session := func(r *http.Request) {
		for _, c := range entered.Cookies() {
			r.AddCookie(c)
		}
	}
	tab, other := s.followAs(session, ""), s.follow("")
	tab.await("status")
	s.wants(303, "POST", "/logout", session)
	for e := tab.next(); e.name != ""; e = tab.next() {
		if e.name == "end" {
			t.Error("it tells of an end")
		}
	}
	s.writer.Show(event.Note{Text: "it goes on", At: time.Now()})
	other.await("note")
}
