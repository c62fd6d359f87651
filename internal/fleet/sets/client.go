package sets

import (
	"context"
	"net/http"
	"net/url"

	"midstream/internal/ops/queue"
)

// Client asks a service for its change sets. Its errors are those of queue.Client.
type Client struct{ Queue *queue.Client }

// Submit submits a set.
func (c Client) Submit(ctx context.Context, asked SetFile) (v View, err error) {
	err = c.Queue.Call(ctx, http.MethodPost, "sets", asked, &v)
	return v, err
}

// List returns all sets, without their members.
func (c Client) List(ctx context.Context) (list []View, err error) {
	err = c.Queue.Call(ctx, http.MethodGet, "sets", nil, &list)
	return list, err
}

// Get returns a set.
func (c Client) Get(ctx context.Context, id string) (v View, err error) {
	err = c.Queue.Call(ctx, http.MethodGet, "sets/"+url.PathEscape(id), nil, &v)
	return v, err
}

// Ask asks for something.
func (c Client) Ask(ctx context.Context, id, ask string, asked Ask) (v View, err error) {
	err = c.Queue.Call(ctx, http.MethodPost, "sets/"+url.PathEscape(id)+"/"+ask, asked, &v)
	return v, err
}
