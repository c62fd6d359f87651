package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// ErrToken: the token of a service cannot be read. ErrUnnamed: no service was named, and this user has none. ErrUnreached: no answer
// of a service arrived.
var (
	ErrToken     = errors.New("cannot read the token of the service")
	ErrUnnamed   = errors.New("this user has begun no midstream serve on this machine, and --service names no other")
	ErrUnreached = errors.New("cannot reach the service")
)

// Client asks a service. Its errors are ErrToken, ErrUnnamed, ErrUnreached, a *socket.Problem, or say that the
// answer makes no sense.
type Client struct {
	At    string                 // the service's URL
	Token func() (string, error) // reads the token, for each request
	HTTP  *http.Client
}

// Submit puts a change into the queue. If the queue has it already, again has it run again unless it is done, waits or runs.
func (c *Client) Submit(ctx context.Context, asked Submission, again bool) (submitted Change, err error) {
	err = c.Call(ctx, http.MethodPost, "changes", asked, &submitted)
	if err == nil && again && submitted.Again != "" { // of two scripts at once, one begins it
		return c.Again(ctx, submitted.ID, AgainRequest{Attempt: submitted.Attempt + 1, By: asked.By})
	}
	return submitted, err
}

// Undo has a change taken back.
func (c *Client) Undo(ctx context.Context, id string, asked UndoRequest) (undo Change, err error) {
	err = c.Call(ctx, http.MethodPost, "changes/"+url.PathEscape(id)+"/undo", asked, &undo)
	return undo, err
}

// Again has a change run again.
func (c *Client) Again(ctx context.Context, id string, asked AgainRequest) (again Change, err error) {
	err = c.Call(ctx, http.MethodPost, "changes/"+url.PathEscape(id)+"/again", asked, &again)
	return again, err
}

// Change returns one change.
func (c *Client) Change(ctx context.Context, id string) (found Change, err error) {
	err = c.Call(ctx, http.MethodGet, "changes/"+url.PathEscape(id), nil, &found)
	return found, err
}

// Decide approves or rejects a change.
func (c *Client) Decide(ctx context.Context, id, command string, asked any) (decided Change, err error) {
	err = c.Call(ctx, http.MethodPost, "changes/"+url.PathEscape(id)+"/"+command, asked, &decided)
	return decided, err
}

// Tell sends a command to the run of a change, or to the service about it.
func (c *Client) Tell(ctx context.Context, id, command string, asked any) (answer socket.Answer, err error) {
	err = c.Call(ctx, http.MethodPost, "changes/"+url.PathEscape(id)+"/"+command, asked, &answer)
	return answer, err
}

// Changes returns all changes in a state; "" for every state.
func (c *Client) Changes(ctx context.Context, state string) (list []Change, err error) {
	path := "changes"
	if state != "" {
		path += "?state=" + url.QueryEscape(state)
	}
	err = c.Call(ctx, http.MethodGet, path, nil, &list)
	return list, err
}

// Withdraw takes a change out of the queue that has not begun.
func (c *Client) Withdraw(ctx context.Context, id, reason string) (withdrawn Change, err error) {
	path := "changes/" + url.PathEscape(id)
	if reason != "" {
		path += "?reason=" + url.QueryEscape(reason)
	}
	err = c.Call(ctx, http.MethodDelete, path, nil, &withdrawn)
	return withdrawn, err
}

// Freezes returns the servers that are frozen.
func (c *Client) Freezes(ctx context.Context) (list []Freeze, err error) {
	err = c.Call(ctx, http.MethodGet, "freezes", nil, &list)
	return list, err
}

// Freeze freezes a server.
func (c *Client) Freeze(ctx context.Context, asked FreezeRequest) (f Freeze, err error) {
	err = c.Call(ctx, http.MethodPost, "freezes", asked, &f)
	return f, err
}

// Unfreeze ends the freeze of a server.
func (c *Client) Unfreeze(ctx context.Context, server string) (f Freeze, err error) {
	err = c.Call(ctx, http.MethodDelete, "freezes/"+url.PathEscape(server), nil, &f)
	return f, err
}

// Order sends an order to a member of a change set.
func (c *Client) Order(ctx context.Context, o Order) (m MemberReport, err error) {
	err = c.Call(ctx, http.MethodPost, "members", o, &m)
	return m, err
}

// Members returns the members of a change set, as the service knows them.
func (c *Client) Members(ctx context.Context, set string) (list []MemberReport, err error) {
	err = c.Call(ctx, http.MethodGet, "members?set="+url.QueryEscape(set), nil, &list)
	return list, err
}

// ThisUser says who asks a service.
func ThisUser() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// followEvery is the time between two requests of Follow. absence bounds how long the service may be
// away: if it is started again, its changes continue.
const (
	followEvery = time.Second
	absence     = 5 * time.Minute
)

// Follow waits until a change is over, and hands over each new state. Without an answer for five
// minutes, it gives up.
func (c *Client) Follow(ctx context.Context, followed Change, each func(Change)) (Change, error) {
	heard := time.Now()
	for !followed.State.Over() {
		select {
		case <-ctx.Done():
			return followed, ctx.Err()
		case <-time.After(followEvery):
		}
		now, err := c.Change(ctx, followed.ID)
		switch {
		case err != nil && (ctx.Err() != nil || Away(err) && time.Since(heard) < absence):
			continue
		case err != nil:
			return followed, err
		}
		changed := now.State != followed.State || !now.State.Over() && now.Why != followed.Why
		if heard, followed = time.Now(), now; changed {
			each(now)
		}
	}
	return followed, nil
}

// Away reports whether an error may pass because the service comes back.
func Away(err error) bool {
	var p *socket.Problem
	return !errors.Is(err, ErrToken) && !errors.Is(err, ErrUnnamed) && !(errors.As(err, &p) && p.Status < http.StatusInternalServerError)
}

// Call sends a request to a path below /v1/, and reads its answer.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	response, err := c.ask(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return socket.ReadAnswer(response, answer)
}

// ask sends a request, with more headers, and returns what comes back. The caller closes its body.
func (c *Client) ask(ctx context.Context, method, path string, body any, headers map[string]string) (*http.Response, error) {
	token, err := c.Token()
	if errors.Is(err, ErrUnnamed) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	request, err := socket.Request(ctx, method, strings.TrimSuffix(c.At, "/")+"/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set(access.Header, access.Stated(ThisUser()))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreached, err)
	}
	return response, nil
}

// Trusting returns an HTTP client that also trusts the certificates of a file; "" for none. It follows
// no redirect.
func Trusting(path string) (*http.Client, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if path == "" {
		return client, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("the file has no certificate")
	}
	client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots}}
	return client, nil
}
