package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// Document is what a hook gets.
type Document struct {
	Moment  Moment     `json:"moment" doc:"name of the moment"`
	At      string     `json:"at" doc:"when, RFC 3339 with milliseconds, UTC"`
	Run     record.Run `json:"run" doc:"the run, as in the record run of docs/events.md"`
	Phase   string     `json:"phase" doc:"the phase that the run is in; empty before the first"`
	Record  any        `json:"record" doc:"the event, as in docs/events.md: phase, throttled, blocked, lock_attempt, swapped, killed, controlled; result of on-success, on-failure and on-end"`
	Outcome string     `json:"outcome" doc:"outcome of the run, by the name of its exit code; empty before the end"`
	Report  string     `json:"report" doc:"path of the report; empty before the end, or if there is none"`
}

// longest is how many bytes of a value stand in a variable of the environment: the system takes 128 KB.
const longest = 32 << 10

// environment is that of this process without the password of MySQL's clients, and with the document in short.
func (d Document) environment() []string {
	env := slices.DeleteFunc(
		os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "MYSQL_PWD=") || strings.HasPrefix(v, "MIDSTREAM_") },
	)
	var why string
	if r, is := d.Record.(record.Result); is {
		why = r.Error
	}
	for _, v := range [][2]string{{"MOMENT", string(d.Moment)}, {"RUN", d.Run.ID}, {"TABLE", d.Run.Table}, {"ALTER", d.Run.Alter}, {"INTO", d.Run.Into}, {"SERVER", d.Run.Server}, {"REHEARSAL", d.Run.Rehearsal},
		{"PHASE", d.Phase}, {"OUTCOME", d.Outcome}, {"ERROR", why}, {"REPORT", d.Report}} {
		text := escape.Line(v[1])
		env = append(env, "MIDSTREAM_"+v[0]+"="+text[:min(len(text), longest)])
	}
	return env
}

// call calls the hook. Its error says which it was and what it said.
func (h Hook) call(ctx context.Context, d Document, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the hook took longer than %s (--hook-timeout)", timeout))
	defer cancel()
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("%s: %w", h, err)
	}
	var said []byte
	if h.url != nil {
		said, err = h.post(ctx, text)
	} else {
		said, err = Execute(ctx, h.target, d.environment(), text)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if first := firstLines(said); first != "" {
		return fmt.Errorf("%s: %w: %s", h, err, first)
	}
	return fmt.Errorf("%s: %w", h, err)
}

// firstLines are those of what a hook has said that fit into a message.
func firstLines(said []byte) string {
	const lines, most = 3, 300
	list := strings.SplitN(strings.TrimSpace(strings.ToValidUTF8(string(said[:min(len(said), most)]), "?")), "\n", lines+1)
	return strings.Join(list[:min(len(list), lines)], "; ")
}

// spoken is how much of what a program says is kept.
const spoken = 64 << 10

// lingering is how long the output of a program is read after its end, where others hold it open.
const lingering = time.Second

// Execute calls a program, without a shell, with an environment and a text on its standard input,
// which it need not read, and returns the beginning of what it has said. When ctx ends it is killed
// with its process group.
func Execute(ctx context.Context, path string, env []string, text []byte) (said []byte, err error) {
	out := &beginning{}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, out, lingering
	if text != nil {
		cmd.Stdin = bytes.NewReader(text)
	}
	inGroup(cmd)
	if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and left others behind
		err = nil
	}
	return out.text, err
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), spoken-len(b.text))]...)
	return len(p), nil
}

var (
	errElsewhere = errors.New("the answer redirects to another host, and hooks do not follow that")
	errUnsaid    = errors.New("the redirect drops the request's body, and hooks do not follow that: answer 307 or 308 instead")
	errTooOften  = errors.New("too many redirects")
)

// post posts a document.
func (h Hook) post(ctx context.Context, text []byte) (said []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.target, bytes.NewReader(text))
	if err != nil {
		return nil, unnamed(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "midstream")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		switch {
		case next.Method != http.MethodPost:
			return errUnsaid
		case next.URL.Host != h.url.Host || next.URL.Scheme != h.url.Scheme:
			return errElsewhere
		case len(before) >= 5:
			return errTooOften
		}
		return nil
	}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, unnamed(err)
	}
	defer answer.Body.Close()
	said, _ = io.ReadAll(io.LimitReader(answer.Body, spoken)) // for people
	if answer.StatusCode/100 != 2 {
		return said, fmt.Errorf("the answer is %s", cmp.Or(answer.Status, fmt.Sprint(answer.StatusCode)))
	}
	return said, nil
}

// unnamed is an error without its URL, which may have a secret in it.
func unnamed(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
