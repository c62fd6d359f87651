package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"midstream/internal/control"
	"midstream/internal/history"
)

// usualListen is where a service is, unless somebody says something else.
const usualListen = "127.0.0.1:8385"

// listening are the flags that say where a service answers, and to whom.
type listening struct {
	address string
	token   tokenFlag
	at      net.Addr // once it answers
}

func (l *listening) register(f *checks) {
	f.flags.StringVar(&l.address, "listen", usualListen, "address and port of the API; of this machine alone")
	l.token.register(f)
}

// check says what is wrong with the flags.
func (l *listening) check() error {
	host, _, err := net.SplitHostPort(l.address)
	if err != nil {
		return fmt.Errorf("--listen %s: it is an address and a port, like %s", l.address, usualListen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %s: it is an address of this machine alone, like %s", l.address, usualListen)
	}
	return nil
}

func (l *listening) url() string { return "http://" + l.at.String() }

// lastAnswers is how long answers that are on their way are waited for at the end.
const lastAnswers = 3 * time.Second

// serve answers until stop is called. end is called if it can't any more.
func (l *listening) serve(app *app, handler http.Handler, end context.CancelCauseFunc) (stop func(), err error) {
	token, err := l.token.make(app)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		return nil, &coded{code: exitFailed, err: err, left: "runs that are at work go on; nothing was changed", next: "name another address by --listen, or end what has it"}
	}
	l.at = listener.Addr()
	server := &http.Server{Handler: guarded(handler, token), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			end(fmt.Errorf("answer at %s: %w", l.address, err))
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}, nil
}

// guarded lets those in who have the token.
func guarded(handler http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(said), []byte(token)) != 1 {
			p := &control.Problem{Status: http.StatusUnauthorized, Title: "nothing is told or done without the token", Next: "give that of the service's --token-file"}
			w.Header().Set("Content-Type", p.ContentType(""))
			w.WriteHeader(p.Status)
			_ = json.NewEncoder(w).Encode(p)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// tokenFlag says in which file the token is that lets somebody ask a service.
type tokenFlag struct{ path string }

func (t *tokenFlag) register(f *checks) {
	f.flags.StringVar(&t.path, "token-file", "", "file of the token that lets in ($XDG_STATE_HOME/midstream/token, or ~/.local/state/midstream/token)")
}

// read reads the token.
func (t *tokenFlag) read(app *app) (string, error) {
	path, err := app.stateFolder(t.path, "token")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(text)); err != nil || token != "" {
		return token, err
	}
	return "", fmt.Errorf("there is no token in %s", path)
}

// make reads the token of a service, and makes one where nobody has named a file and there is none.
func (t *tokenFlag) make(app *app) (string, error) {
	token, err := t.read(app)
	if t.path == "" && errors.Is(err, fs.ErrNotExist) {
		path, _ := app.stateFolder("", "token")
		token = rand.Text()
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, []byte(token+"\n"), 0o600)
		}
	}
	if err != nil {
		return "", &coded{code: exitUsage, err: fmt.Errorf("the token: %w", err), left: "nothing was changed", next: "name a file by --token-file that only you may read, with one line"}
	}
	return token, nil
}

// stateFolder is a path that somebody has named, or what is called so among what this program keeps of its user.
func (a *app) stateFolder(named, name string) (string, error) {
	if named != "" {
		return named, nil
	}
	runs := history.Folder(a.Getenv, a.Home)
	if runs == "" {
		return "", errors.New("this user has no folder to keep things in: name one by --state-dir and --token-file")
	}
	return filepath.Join(filepath.Dir(runs), name), nil
}
