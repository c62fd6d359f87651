package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/process"
	"midstream/internal/face/web"
)

// listening are the flags that say where pages and their API answer, and to whom.
type listening struct {
	door   web.Door
	server *web.Server // once it answers
}

// register adds the flags. usual is where it listens if nobody says another place; "" for nowhere.
func (l *listening) register(f *flags.Set, usual, use string) {
	f.Flags.StringVar(&l.door.Listen, "listen", usual, use)
	f.Flags.StringVar(&l.door.TokenFile, "token-file", "", process.TokenFileUse)
	f.Flags.StringVar(&l.door.Certificate, "tls-cert", "", "serve HTTPS with this certificate and chain (PEM file); needs --tls-key")
	f.Flags.StringVar(&l.door.Key, "tls-key", "", "key of the certificate (PEM file)")
	f.Bool(&l.door.InsecureHTTP, "", "insecure-http", "listen beyond this machine without TLS; everyone on the network path can read the token")
}

func (l *listening) url() string { return l.server.URL() }

// serve answers until stop is called. end is called if it can't any more. untouched says what an error leaves.
func (l *listening) serve(
	app *app,
	source web.Source,
	metrics http.Handler,
	end context.CancelCauseFunc,
	untouched string,
) (stop func(), err error) {
	if path, err := app.StateFolder("", "token"); err == nil {
		l.door.Folder = filepath.Dir(path)
	}
	l.server, err = l.door.Open(source, map[string]http.Handler{"GET /metrics": metrics})
	if err != nil {
		failed := &exit.Error{Code: exit.Failed, Err: err, Left: untouched}
		if closed := (*web.Closed)(nil); errors.As(err, &closed) {
			failed.Next = closed.Next
		}
		return nil, failed
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-l.server.Done()
		if err := l.server.Err(); err != nil {
			end(fmt.Errorf("answer at %s: %w", l.door.Listen, err))
		}
	}()
	return func() { l.server.Close(); <-stopped }, nil
}
