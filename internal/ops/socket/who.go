package socket

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/user"
	"strconv"

	"midstream/internal/ops/access"
)

// who is the process at the other end of a connection.
type who struct{}

// withPeer keeps who is at the other end of a connection, for its requests.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return withName(ctx, peerOf(conn))
}

// withName keeps the name of who has sent a request.
func withName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, who{}, name)
}

// peer names who has sent a request.
func peer(ctx context.Context) string {
	name, _ := ctx.Value(who{}).(string)
	return name
}

// asked names the person in whose name the process at the other end asks, as midstream serve does, before that process.
func asked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := access.Stated(r.Header.Get(access.Header)); name != "" {
			r = r.WithContext(withName(r.Context(), name+", through "+peer(r.Context())))
		}
		TakeForJSON(r)
		next.ServeHTTP(w, r)
	})
}

// nameOf names a process of a user.
func nameOf(uid uint32, pid int32) string {
	name := "a user without a name"
	if u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("%s (uid %d, process %d)", name, uid, pid)
}
