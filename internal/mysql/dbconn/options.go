package dbconn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// Options are a user's settings for a connection, as with MySQL's own client programs: in flags, in
// option files, in the environment. A setting that is not given is the zero value. Over combines
// sources, and Config turns the result into a Config.
type Options struct {
	Host   string
	Port   int
	Socket string
	// Protocol is "", "tcp" or "socket". Option files can set it.
	Protocol string

	User string
	// Password is nil if none was given; an empty one counts as given.
	Password *Secret
	// AskPassword means that the user wants to be asked for a password.
	AskPassword bool
	// PasswordCommand prints the password; it runs before each connection.
	PasswordCommand string

	SSLMode SSLMode
	SSLCA   string
	SSLCert string
	SSLKey  string
}

// Over returns o with what it leaves open taken from the options below it.
func (o Options) Over(below Options) Options {
	o.Host, o.Socket = or(o.Host, below.Host), or(o.Socket, below.Socket)
	o.Port, o.Protocol = or(o.Port, below.Port), or(o.Protocol, below.Protocol)
	o.User = or(o.User, below.User)
	if !o.HasPassword() && o.PasswordCommand == "" {
		o.Password, o.AskPassword, o.PasswordCommand = below.Password, below.AskPassword, below.PasswordCommand
	}
	o.SSLMode = or(o.SSLMode, below.SSLMode)
	o.SSLCA, o.SSLCert, o.SSLKey = or(o.SSLCA, below.SSLCA), or(o.SSLCert, below.SSLCert), or(o.SSLKey, below.SSLKey)
	return o
}

// HasPassword reports whether there is a password, or the user is to be asked for it.
func (o Options) HasPassword() bool { return o.AskPassword || o.Password != nil }

func or[T comparable](said, below T) T {
	var none T
	if said == none {
		return below
	}
	return said
}

// OptionsFromEnv returns the settings of the variables that MySQL's client programs honour. All
// other sources override them.
func OptionsFromEnv(getenv func(string) string) (Options, error) {
	o := Options{Host: getenv("MYSQL_HOST"), Socket: getenv("MYSQL_UNIX_PORT")}
	if password := getenv("MYSQL_PWD"); password != "" {
		secret := Secret(password)
		o.Password = &secret
	}
	if port := getenv("MYSQL_TCP_PORT"); port != "" {
		var err error
		if o.Port, err = parsePort(port); err != nil {
			return o, fmt.Errorf("MYSQL_TCP_PORT: %w", err)
		}
	}
	return o, nil
}

// WithoutEnv removes variables from an environment that would lead a child to another server or
// account than its options name.
func WithoutEnv(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "MYSQL_") })
}

func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("%q is not a port (1 to 65535)", text)
	}
	return port, nil
}

// defaultPort is the server's.
const defaultPort = 3306

// defaultSockets are where servers put their socket: Debian's and Ubuntu's packages,
// Red Hat's, MySQL's own, MariaDB's.
var defaultSockets = []string{
	"/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock", "/run/mysql/mysql.sock",
}

// Config decides where to connect, as which user and how, or reports all errors at once. notes
// describe choices that may surprise.
func (o Options) Config() (cfg Config, notes []string, err error) {
	cfg = Config{User: o.User}
	if cfg.User == "" {
		cfg.User = loginName()
	}
	if o.Password != nil {
		cfg.Password = *o.Password
	}
	if o.Password == nil && !o.AskPassword && o.PasswordCommand != "" {
		cfg.PasswordFrom = passwordOf(o.PasswordCommand)
	}
	var problems []error
	if o.Port < 0 || o.Port > 65535 {
		problems = append(problems, fmt.Errorf("port %d: must be between 1 and 65535", o.Port))
	}
	problems = append(problems, checkHost(o.Host))
	cfg.Network, cfg.Address, notes = o.endpoint(defaultSockets)
	if cfg.Address == "" {
		problems = append(problems, errors.New("protocol is socket, but no --socket is named, and none exists in the usual places"))
	}
	cfg.TLS, cfg.TLSFallback, err = o.tls(cfg.Network)
	problems = append(problems, err)
	return cfg, notes, errors.Join(problems...)
}

// checkHost returns the error in a host, as far as its spelling shows it.
func checkHost(host string) error {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return fmt.Errorf("host %s: give its port separately: -h %s -P %s", host, name, port)
	}
	switch {
	case strings.HasPrefix(host, "["):
		return fmt.Errorf("host %s: write the address without brackets", host)
	case strings.HasPrefix(host, "-"):
		return fmt.Errorf("host %s: it looks like a flag, but -h needs a host", host)
	}
	return nil
}

// endpoint follows the rule of MySQL's client programs. No host and "localhost" mean the socket,
// even if a port is given. Any other host means TCP, even if a socket is given. If no socket is
// named and none is found, localhost is reached by TCP.
func (o Options) endpoint(sockets []string) (network, address string, notes []string) {
	local := o.Host == "" || strings.EqualFold(o.Host, "localhost")
	port := strconv.Itoa(or(o.Port, defaultPort))
	if !local && o.Protocol != "socket" || o.Protocol == "tcp" {
		return "tcp", net.JoinHostPort(or(o.Host, "localhost"), port), nil
	}
	socket := o.Socket
	for _, s := range sockets {
		if socket == "" && isSocket(s) {
			socket = s
		}
	}
	switch {
	case socket == "" && o.Protocol == "socket":
		return "unix", "", nil
	case socket == "":
		return "tcp", net.JoinHostPort("localhost", port), nil
	case o.Port != 0:
		notes = append(notes, fmt.Sprintf("localhost means the socket %s, as in mysql; port %d is not used. "+
			"Use --host=127.0.0.1 to use it", socket, o.Port))
	}
	return "unix", socket, notes
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// loginName is the name of the account that this process runs as.
func loginName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
