package socket

import (
	"context"
	"fmt"
	"net"
	"os/user"
	"strconv"
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

// nameOf names a process of a user.
func nameOf(uid uint32, pid int32) string {
	name := "a user without a name"
	if u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("%s (uid %d, process %d)", name, uid, pid)
}
