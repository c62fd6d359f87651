package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"midstream/internal/ops/access"
)

const (
	// sessionLife is the duration of a login.
	sessionLife = 12 * time.Hour
	// mostSessions bounds the memory for sessions: a new login drops the oldest one.
	mostSessions = 1000
)

// gate checks tokens and sessions. It is safe for concurrent use.
type gate struct {
	// token is the digest of the single token; nil if there is none. A comparison of digests always takes the same time.
	token *access.Digest
	// book has the tokens with names; nil if there is none.
	book *access.Book
	// cookie is the cookie's name. It has the port, because a browser sends cookies to all ports of a host.
	cookie string
	secure bool // TLS

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]login
}

// login is a session. Its token is looked up for each request, so a token that is removed ends its sessions.
type login struct {
	end   time.Time
	token access.Digest
	name  string // as it was typed, for the single token
}

// newGate makes a gate for a single token, "" for none, and for the tokens of a book, nil for none.
func newGate(token string, book *access.Book, port string, secure bool) *gate {
	g := &gate{book: book, cookie: "midstream-" + port, secure: secure, sessions: map[[sha256.Size]byte]login{}}
	if token != "" {
		digest := access.DigestOf(token)
		g.token = &digest
	}
	return g
}

// find returns the person of a token. name is what the person states; a token with a name ignores it.
func (g *gate) find(token access.Digest, name string) (access.Person, bool) {
	if g.token != nil && subtle.ConstantTimeCompare(token[:], g.token[:]) == 1 {
		return access.Everyone(name), true
	}
	if g.book == nil {
		return access.Person{}, false
	}
	return g.book.Find(token)
}

// who returns the person of a request, which has a token or the cookie of a session.
func (g *gate) who(r *http.Request) (access.Person, bool) {
	if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		return g.find(access.DigestOf(strings.TrimSpace(token)), r.Header.Get(access.Header))
	}
	cookie, err := r.Cookie(g.cookie)
	if err != nil {
		return access.Person{}, false
	}
	g.mu.Lock()
	session, there := g.sessions[sha256.Sum256([]byte(cookie.Value))]
	g.mu.Unlock()
	if !there || !time.Now().Before(session.end) {
		return access.Person{}, false
	}
	return g.find(session.token, session.name)
}

// enter begins a session.
func (g *gate) enter(w http.ResponseWriter, token access.Digest, name string) {
	value := rand.Text() + rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.sessions) >= mostSessions {
		oldest, first := [sha256.Size]byte{}, time.Time{}
		for session, login := range g.sessions {
			if first.IsZero() || login.end.Before(first) {
				oldest, first = session, login.end
			}
		}
		delete(g.sessions, oldest)
	}
	g.sessions[sha256.Sum256([]byte(value))] = login{time.Now().Add(sessionLife), token, name}
	http.SetCookie(w, g.cookieOf(value, int(sessionLife.Seconds())))
}

// leave ends the session of a request.
func (g *gate) leave(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(g.cookie); err == nil {
		g.mu.Lock()
		delete(g.sessions, sha256.Sum256([]byte(cookie.Value)))
		g.mu.Unlock()
	}
	http.SetCookie(w, g.cookieOf("", -1))
}

func (g *gate) cookieOf(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     g.cookie,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   g.secure,
		SameSite: http.SameSiteStrictMode,
	}
}

// policy lets pages read from this server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded adds to a handler the checks and headers of every request. If here is true, it refuses host
// names that are not of this machine: another site may use a name that leads here (DNS rebinding).
func guarded(next http.Handler, here bool) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(
			w, r, http.StatusForbidden, "nothing was done", "the request comes from the page of another site",
			"use the pages of this site",
		)
	}))
	protected := origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if here && !loopback(hostOf(r.Host)) {
			refuse(
				w, r, http.StatusMisdirectedRequest, "nothing was done",
				"the request names the host "+r.Host+", but this server listens for this machine only",
				"use localhost or 127.0.0.1",
			)
			return
		}
		longest := int64(longestBody)
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			longest = longestFiles
		}
		r.Body = http.MaxBytesReader(w, r.Body, longest)
		protected.ServeHTTP(w, r)
	})
}

// longestBody is the maximal size of a request, in bytes.
const longestBody = 1 << 20

// longestFiles is that of a request that may have the files of a change. The API has bounds of its own.
const longestFiles = 8 << 20

// hostOf returns a Host without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
