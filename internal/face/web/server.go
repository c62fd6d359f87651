package web

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"io"

	"midstream/internal/face/assets"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/access"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/socket"
)

// Source is what the pages show. Its functions are safe for concurrent use.
type Source struct {
	// API answers under /v1/: /v1/changes (internal/ops/queue.Change), and the operations of their runs.
	API http.Handler
	// Histories returns the paths of a change's histories, of a group those of all its tables in an order that stays, none before they are
	// there, and whether nothing more will come to them. It fails with a *socket.Problem if there is no such change.
	Histories func(ctx context.Context, id string) (paths []string, over bool, err error)
	// Stream sends the events of the queue; nil for none.
	Stream http.Handler
	// Reach returns the flags that reach the runs; nil for none.
	Reach func() reach.Flags
	// Queue says that changes may be submitted, and withdrawn.
	Queue bool
}

// Server serves pages.
type Server struct {
	source  Source
	gate    *gate
	http    *http.Server
	url     string
	token   string        // path of its file; "" if only tokens with names open
	closing chan struct{} // closed when streams must end
	work    turns         // of requests
	streams turns         // of readers who follow runs
	done    chan struct{} // closed when it serves no more
	err     error         // why, before Close was called
	close   sync.Once
}

// Open listens, and serves until Close. mounted are further handlers by their patterns ("GET
// /metrics"); they are behind the same door. REQUIRES: Check has found nothing.
func (d Door) Open(source Source, mounted map[string]http.Handler) (*Server, error) {
	token, path, err := d.token()
	if err != nil {
		return nil, err
	}
	book, err := d.book()
	if err != nil {
		return nil, err
	}
	listener, crowd, err := d.listen()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(d.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	scheme, secure := "http", d.Certificate != ""
	if secure {
		scheme = "https"
	}
	s := &Server{
		source:  source,
		gate:    newGate(token, book, port, secure),
		url:     scheme + "://" + listener.Addr().String(),
		token:   path,
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		work:    make(turns, mostRequests),
		streams: make(turns, min(mostStreams, fewer(mostConnections)/2)),
	}
	s.http = &http.Server{
		Handler:           patient(guarded(s.routes(mounted), loopback(host)), patience),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
		ConnState:         crowd.state,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: mostRequests},
		ErrorLog:          log.New(io.Discard, "", 0), // mistakes of clients do not concern the operator
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s, nil
}

// URL is where it is.
func (s *Server) URL() string { return s.url }

// TokenFile is where the single token is; "" if there is none.
func (s *Server) TokenFile() string { return s.token }

// Tokens says by which tokens people get in, and warns if none has the role operate.
func (s *Server) Tokens() string {
	var all []string
	if s.token != "" {
		all = append(all, "the access token of its pages in "+s.token)
	}
	if s.gate.book != nil {
		all = append(all, "log in with a token that midstream token printed; their digests are in "+s.gate.book.Path())
	}
	if s.token == "" && s.gate.book != nil && !s.gate.book.Has(access.Operate) {
		all = append(all, "no token has the role operate, so no one can pause, release, abort or freeze: midstream token NAME --role operate --tokens "+
			s.gate.book.Path()+" adds one")
	}
	return strings.Join(all, "; ")
}

// Done is closed when it serves no more; Err then says why, nil after Close.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is why it serves no more. REQUIRES: Done is closed.
func (s *Server) Err() error { return s.err }

// lastWords is how long Close waits for answers that are on their way.
const lastWords = 3 * time.Second

// Close sends the readers of a run its end, and waits for answers that are on their way.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			s.http.Close()
		}
	})
	<-s.done
}

// routes are the paths. Only the last ones are open without a login.
func (s *Server) routes(mounted map[string]http.Handler) http.Handler {
	inside := http.NewServeMux()
	inside.HandleFunc("GET /{$}", s.listPage)
	if s.source.Queue {
		inside.HandleFunc("GET /new", s.newPage)
		inside.HandleFunc("GET /audit", s.journalPage)
		inside.HandleFunc("GET /parts/changes/{id}/audit", s.journalPart)
	}
	if s.source.Queue {
		s.fleetPages(inside)
	}
	inside.HandleFunc("GET /changes/{id}", s.changePage)
	inside.HandleFunc("GET /parts/changes", s.listPart)
	inside.HandleFunc("GET /parts/changes/{id}/blockers", s.blockersPart)
	for _, form := range forms {
		inside.HandleFunc("GET /v1/changes/{id}/report."+form.name, s.report(form))
	}
	inside.Handle("/v1/", s.source.API)
	for pattern, handler := range mounted {
		inside.Handle(pattern, handler)
	}
	mux := http.NewServeMux()
	streams := http.NewServeMux()
	streams.HandleFunc("GET /v1/changes/{id}/events", s.inTurn(s.streams, time.Second, "readers follow runs", http.HandlerFunc(s.events)))
	if s.source.Stream != nil {
		streams.HandleFunc("GET /v1/events", s.inTurn(s.streams, time.Second, "readers follow runs", http.HandlerFunc(s.queueEvents)))
	}
	streams.HandleFunc("/", s.inTurn(s.work, turn, "requests", inside))
	mux.Handle("/", s.behind(streams))
	mux.HandleFunc("GET /login", s.loginPage)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.Handle("GET /static/", http.StripPrefix("/static/", files()))
	return mux
}

// inTurn bounds how many requests a handler answers at once.
func (s *Server) inTurn(turns turns, patience time.Duration, what string, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done, ok := turns.take(w, r, patience, what)
		if !ok {
			return
		}
		defer done()
		next.ServeHTTP(w, r)
	}
}

// behind lets in requests with a token or a session. It leads a browser to the login, and refuses a program.
func (s *Server) behind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, known := s.gate.who(r)
		switch {
		case known:
			if isAPI(r) && r.Header.Get("Authorization") != "" { // never a form of another site: a browser does not send that header by itself
				socket.TakeForJSON(r)
			}
			next.ServeHTTP(w, r.WithContext(access.With(r.Context(), person)))
		case r.Method == http.MethodGet && !isAPI(r) && strings.Contains(r.Header.Get("Accept"), "text/html"):
			http.Redirect(w, r, loginTo(r.URL.Path), http.StatusSeeOther)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(
				w, r, http.StatusUnauthorized, "nothing was done", "the request has no token or a wrong token",
				"send the header Authorization: Bearer TOKEN, or log in at /login; the token is in the file that --token-file names, or midstream token printed it (the file of --tokens has only digests)",
			)
		}
	})
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// files are the files of all pages; they contain no secrets.
func files() http.Handler {
	own, err := fs.Sub(embedded, "assets/static")
	if err != nil {
		panic(err) // the name is ours
	}
	drawing := http.FileServerFS(assets.Files())
	ours := http.FileServerFS(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if _, err := fs.Stat(own, r.URL.Path); err == nil && r.URL.Path != "" {
			ours.ServeHTTP(w, r)
			return
		}
		drawing.ServeHTTP(w, r)
	})
}

// refuse answers with what was not done, the reason, and what to do, as the API does or as a page.
func refuse(w http.ResponseWriter, r *http.Request, status int, title, detail, next string) {
	problem := &socket.Problem{Status: status, Title: title, Detail: detail, Next: next}
	if !isAPI(r) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		show(w, "problem.html", status, problem)
		return
	}
	w.Header().Set("Content-Type", problem.ContentType(""))
	w.WriteHeader(status)
	_ = json.NewEncoder(escape.Writer(w)).Encode(problem) // who asked may be gone
}

// fail answers with an error of the source.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *socket.Problem
	if !errors.As(err, &p) {
		p = &socket.Problem{Status: http.StatusInternalServerError, Title: "the request failed", Detail: err.Error(), Next: "try again"}
	}
	refuse(w, r, p.Status, p.Title, p.Detail, p.Next)
}
