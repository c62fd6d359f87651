package dbconn

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"database/sql"
	"fmt"
	"io"
	"log"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/mysql/schema"
)

// ProgramName marks our connections in performance_schema.session_connect_attrs.
const ProgramName = "midstream"

// OwnSessions selects the processlist_id of every connection that is marked as ours.
const OwnSessions = sessionsOf + ProgramName + "'"

const sessionsOf = "SELECT a.processlist_id FROM performance_schema.session_connect_attrs a" +
	" WHERE a.attr_name = 'program_name' AND a.attr_value = '"

// Secret is a text that must not be printed.
type Secret string

// String hides the secret from every verb of package fmt.
func (Secret) String() string { return "***" }

// GoString hides the secret from %#v.
func (Secret) GoString() string { return "***" }

// Config defines how to reach a server.
type Config struct {
	Network  string // "tcp" or "unix"
	Address  string // host:port, or a socket's path
	User     string
	Password Secret
	// PasswordFrom returns the password for a new connection, which is sent in clear text inside TLS if the server asks for that. nil:
	// Password is it.
	PasswordFrom func(context.Context) (Secret, error)
	TLS          *tls.Config // nil: no TLS
	// Program is the program_name that the server sees. Defaults to ProgramName. The engine
	// recognizes its own connections by it: don't set it there.
	Program string
	// Globals have SQL literals that count instead of the server's own global values: Pool.Globals of another server.
	Globals map[string]string
	// TLSFallback goes on without TLS if the server offers none (ssl-mode PREFERRED).
	TLSFallback bool
}

// Pool holds the connections of one run to one server.
type Pool struct {
	db      *sql.DB
	program string // the mark of its connections
	name    string // a mark of this pool alone
	marked  bool   // the server shows it
	threads bool   // performance_schema shows sessions
	// refuses means that a statement may ask for a lock at once or not at all (MariaDB).
	refuses bool
	server  *bound

	mu     sync.Mutex          // guards the rest
	killer *sql.Conn           // opened beforehand: withdraws statements of sessions
	lost   map[uint64]struct{} // sessions with a broken connection
	within string              // the default database of sessions
}

// Open connects to the server; later connections fail with ErrOtherServer if they come to lead to
// another one. variables are session variables, as SQL expressions,
// that add to or replace the usual ones.
func Open(ctx context.Context, cfg Config, variables map[string]string) (*Pool, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = cfg.Network, cfg.Address, cfg.User, string(cfg.Password)
	c.TLS, c.AllowFallbackToPlaintext = cfg.TLS, cfg.TLSFallback
	c.Timeout = 10 * time.Second
	c.MaxAllowedPacket = 0 // ask the server
	program := cmp.Or(cfg.Program, ProgramName)
	name := rand.Text()
	c.ConnectionAttributes = "program_name:" + program + "," + nameAttribute + ":" + name
	c.Logger = log.New(io.Discard, "", 0) // what goes wrong is returned
	if cfg.PasswordFrom != nil {
		c.AllowCleartextPasswords = cfg.TLS != nil && !cfg.TLSFallback
		_ = c.Apply(mysql.BeforeConnect(func(ctx context.Context, c *mysql.Config) error { // it only sets a field
			password, err := cfg.PasswordFrom(ctx)
			c.Passwd = string(password)
			return err
		}))
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("connect to %s as %s: %w", cfg.Address, cfg.User, err)
	}
	server := &bound{Connector: connector, globals: inPlaceOf(cfg.Globals)}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		server.variables.wanted = append(server.variables.wanted, variable{name, variables[name]})
	}
	p := &Pool{db: sql.OpenDB(server), server: server, program: program, name: name}
	p.db.SetMaxIdleConns(8)
	if p.killer, err = p.db.Conn(ctx); err != nil {
		p.db.Close()
		return nil, fmt.Errorf("connect to %s as %s: %w", cfg.Address, cfg.User, err)
	}
	if p.marked, err = p.showsMarks(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("connect to %s as %s: %w", cfg.Address, cfg.User, err)
	}
	if err := p.meet(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("connect to %s as %s: %w", cfg.Address, cfg.User, err)
	}
	return p, nil
}

// nameAttribute is the connection attribute that has the pool's name.
const nameAttribute = "midstream_run"

// Name identifies the connections of this pool, now and after its process has ended: 26 letters and
// digits.
func (p *Pool) Name() string { return p.name }

// DB serves queries that may use any connection.
func (p *Pool) DB() *sql.DB { return p.db }

// Use makes a database the default of sessions that are opened from now on. Replication filters by
// database (binlog_do_db, replicate_do_db). With that default, they treat our statements like the
// application's.
func (p *Pool) Use(database string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.within = database
}

// Database is the default database of sessions, "" if they have none.
func (p *Pool) Database() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.within
}

// Close closes every connection of the pool.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killer != nil {
		p.killer.Close()
		p.killer = nil
	}
	return p.db.Close()
}

// Withdraw withdraws the statement that a connection of this pool runs, as another session's KILL
// QUERY does.
func (p *Pool) Withdraw(id uint64) error { return p.kill(id) }

// kill withdraws the statement that a connection runs.
func (p *Pool) kill(id uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	query := fmt.Sprintf("KILL QUERY %d", id)
	if p.killer != nil {
		_, err := p.killer.ExecContext(ctx, query)
		if err == nil || !ConnectionLost(err) {
			return err
		}
		p.killer.Close()
	}
	var err error
	if p.killer, err = p.db.Conn(ctx); err != nil {
		p.killer = nil
		return err
	}
	_, err = p.killer.ExecContext(ctx, query)
	return err
}

// CloneOf returns the name, next to a table, of an empty copy that this pool makes for a moment. No
// other pool uses that name. ending identifies its purpose, if there is more than one.
func (p *Pool) CloneOf(table schema.Name, ending string) schema.Name {
	return table.Sibling("midstream_" + p.name + ending)
}

// cloneName matches names from CloneOf, also in lower case, because some servers spell all names
// so.
var cloneName = regexp.MustCompile(`^(?i:midstream_([A-Z2-7]{26}))`)

// MakerOf is the name of the pool that has made a clone of this name, false if it is no such name.
func MakerOf(clone schema.Name) (pool string, is bool) {
	m := cloneName.FindStringSubmatch(clone.Table)
	if m == nil {
		return "", false
	}
	return strings.ToUpper(m[1]), true
}

// Connected reports whether the pool of that name has connections, as far as the server shows that.
func (p *Pool) Connected(ctx context.Context, name string) (there bool, err error) {
	if !p.marked {
		return false, nil
	}
	err = p.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM performance_schema.session_connect_attrs"+
		" WHERE "+ofPool(name)+")").Scan(&there)
	return there, err
}
