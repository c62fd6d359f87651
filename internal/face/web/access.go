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
)

const (
	// sessionLife is the duration of a login.
	sessionLife = 12 * time.Hour
	// mostSessions bounds the memory for sessions: a new login drops the oldest one.
	mostSessions = 1000
)

// access checks tokens and sessions. It is safe for concurrent use.
type access struct {
	// token is a digest, so that a comparison always takes the same time.
	token [sha256.Size]byte
	// cookie is the cookie's name. It has the port, because a browser sends cookies to all ports of a host.
	cookie string
	secure bool // TLS

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]time.Time // when they end
}

func newAccess(token, port string, secure bool) *access {
	return &access{
		token:    sha256.Sum256([]byte(token)),
		cookie:   "midstream-" + port,
		secure:   secure,
		sessions: map[[sha256.Size]byte]time.Time{},
	}
}

// opens reports whether a text is the token.
func (a *access) opens(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], a.token[:]) == 1
}

// allowed reports whether a request has the token or the cookie of a session.
func (a *access) allowed(r *http.Request) bool {
	if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		return a.opens(strings.TrimSpace(token))
	}
	cookie, err := r.Cookie(a.cookie)
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.sessions[sha256.Sum256([]byte(cookie.Value))])
}

// enter begins a session.
func (a *access) enter(w http.ResponseWriter) {
	value := rand.Text() + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= mostSessions {
		oldest, first := [sha256.Size]byte{}, time.Time{}
		for session, end := range a.sessions {
			if first.IsZero() || end.Before(first) {
				oldest, first = session, end
			}
		}
		delete(a.sessions, oldest)
	}
	a.sessions[sha256.Sum256([]byte(value))] = time.Now().Add(sessionLife)
	http.SetCookie(w, a.cookieOf(value, int(sessionLife.Seconds())))
}

// leave ends the session of a request.
func (a *access) leave(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(a.cookie); err == nil {
		a.mu.Lock()
		delete(a.sessions, sha256.Sum256([]byte(cookie.Value)))
		a.mu.Unlock()
	}
	http.SetCookie(w, a.cookieOf("", -1))
}

func (a *access) cookieOf(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     a.cookie,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   a.secure,
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
