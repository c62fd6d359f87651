package binlog

import (
	"context"
	"crypto/tls"
	"log/slog"
)

// Server defines how to reach the server that sends its binlog. Its String, GoString, log and JSON
// forms leave the password out.
type Server struct {
	Network  string // "tcp" or "unix"; defaults to "tcp"
	Address  string // host:port, or the socket's path
	User     string
	Password string `json:"-"`
	// PasswordFrom returns the password for a new connection; nil: Password is it.
	PasswordFrom func(context.Context) (string, error) `json:"-"`
	TLS          *tls.Config                           `json:"-"` // nil: no TLS

	// UUID is the server's server_uuid; another server is refused with ErrOtherServer, for
	// its binlog may have other events at the same place. "" is any.
	UUID string

	// ServerID is the replica id that the server sees. Defaults to a random one in the upper half
	// of the range. Leave it alone. MySQL distinguishes its readers by a random UUID that each of
	// them announces. MariaDB distinguishes them by this id, and throws out the first of two
	// readers with the same one.
	ServerID uint32
}

// String returns user@network(address).
func (s Server) String() string { return s.User + "@" + s.network() + "(" + s.Address + ")" }

// GoString keeps %#v from printing the password.
func (s Server) GoString() string { return "binlog.Server{" + s.String() + "}" }

// LogValue keeps a log from printing the password.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

func (s Server) network() string {
	if s.Network == "" {
		return "tcp"
	}
	return s.Network
}
