package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopPatience is how long Stop waits for a clean shutdown before it kills the server.
const stopPatience = 60 * time.Second

// Server is a running server, or one that Kill has ended and Restart may start again. Its methods
// are safe for concurrent use.
type Server struct {
	Build    *Build
	Address  string // "127.0.0.1:port"
	Port     int
	Socket   string // may be longer than the system lets a client connect to
	User     string // the administrator, with every privilege
	Password string // "" is none

	options Options
	folder  folder

	mu      sync.Mutex
	proc    *process // nil once stopped
	killed  bool     // by us: its end is no surprise
	stopped bool
}

// Start starts a server and returns when it answers. ctx bounds the start, not the server's life:
// that ends with Stop, or with this process.
func (b *Build) Start(ctx context.Context, o Options) (*Server, error) {
	run := b.cache.run()
	if o.InMemory {
		run = cmp.Or(memoryRun(), run)
	}
	sweep(run)
	f, err := openFolder(run, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Build: b, User: "root", Password: o.Password, Socket: f.socket(), options: o, folder: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("start MySQL %s: %w", b.Version, errors.Join(err, f.close()))
	}
	return s, nil
}

// start fills the folder and launches the server, on another port if somebody was quicker to take
// the one that was free.
// REQUIRES: s.mu.
func (s *Server) start(ctx context.Context) error {
	fresh, err := s.folder.fill(ctx, s.Build, s.options)
	if err != nil {
		return err
	}
	var first []string
	if fresh && s.Password != "" {
		script := filepath.Join(s.folder.dir, "password.sql")
		if err := os.WriteFile(script, []byte(setPassword(s.User, s.Password)), 0o600); err != nil {
			return fmt.Errorf("set the password: %w", err)
		}
		defer os.Remove(script)
		first = []string{"--init-file=" + script}
	}
	for try := 1; ; try++ {
		port := s.options.Port
		if port == 0 {
			if port, err = freePort(); err != nil {
				return err
			}
		}
		s.Port, s.Address = port, "127.0.0.1:"+strconv.Itoa(port)
		err := s.launch(ctx, first...)
		if !errors.Is(err, errPortTaken) || s.options.Port != 0 || try == 10 {
			return err
		}
	}
}

// setPassword is run by the server's first start. Nothing of it goes to the binlog.
func setPassword(user, password string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(password)
	return fmt.Sprintf("SET SESSION sql_log_bin=0;\nALTER USER '%s'@'%%' IDENTIFIED BY '%s';\n", user, quoted)
}

// launch starts the process on the data and the port that s has, and waits until it answers.
// REQUIRES: s.mu.
func (s *Server) launch(ctx context.Context, extra ...string) error {
	log, err := os.OpenFile(s.folder.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close() // the child has its own
	if err := os.Remove(s.folder.pid()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the dead server's pid file: %w", err)
	}
	args := append(s.options.arguments(s.Build, s.folder, s.Port), extra...)
	cmd := s.Build.command(context.Background(), s.Build.server, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder.dir, log, log
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	if err := awaitAnswer(ctx, p, s.folder.pid(), s.Address); err != nil {
		p.kill()
		if portTaken(s.Address) {
			return fmt.Errorf("%w: %s", errPortTaken, s.Address)
		}
		return fmt.Errorf("%w%s", err, complaint(s.logTail()))
	}
	s.proc, s.killed = p, false
	return nil
}

// PID returns the process id of the server, or of its last process if it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.pid
}

// Ended is closed when the server's process is gone, for whatever reason.
func (s *Server) Ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.done
}

// ErrorLog returns the path of the server's log. A throwaway server's is gone after Stop.
func (s *Server) ErrorLog() string { return s.folder.log() }

// Reach is how to reach a server, for scripts.
type Reach struct {
	Address  string `json:"address"`
	Port     int    `json:"port"`
	Socket   string `json:"socket"`
	User     string `json:"user"`
	PID      int    `json:"pid"`
	Release  string `json:"release"`
	ErrorLog string `json:"error_log"`
	// Client is the command line of the server's own client, if it has one.
	Client []string `json:"client"`
}

// Reach returns how to reach the server.
func (s *Server) Reach(ctx context.Context) Reach {
	return Reach{
		Address: s.Address, Port: s.Port, Socket: s.Socket, User: s.User, PID: s.PID(), Release: s.Build.Release, ErrorLog: s.ErrorLog(),
		Client: s.Build.Client(ctx, "mysql", s.ClientArgs()...).Args,
	}
}

// ClientArgs are the arguments with which the MySQL client programs reach the server.
func (s *Server) ClientArgs() []string {
	args := []string{"--host=127.0.0.1", "--port=" + strconv.Itoa(s.Port), "--user=" + s.User}
	if s.Password != "" {
		args = append(args, "--password="+s.Password)
	}
	return args
}

// Kill ends the server as a crash would (SIGKILL) and returns when its process is gone. Data and
// port stay for Restart.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// kill is Kill.
// REQUIRES: s.mu.
func (s *Server) kill() error {
	if s.stopped {
		return errors.New("kill the server: it was stopped")
	}
	s.killed = true
	s.proc.kill()
	return nil
}

// Restart kills the server if it runs, starts it again on the same data and port, and returns when
// it has recovered and answers.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("restart MySQL %s: %w", s.Build.Version, err)
	}
	return nil
}

// Stop shuts the server down, by force if it takes too long or ctx ends, and returns when its
// process is gone. A throwaway folder is removed. The error says if the server had ended by itself
// or did not end well, with its stack or the end of its log; it is stopped and cleaned up all the same. A second
// Stop does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	var crash error
	if early := s.proc.gone(); !s.killed && (early || !s.shutDown(ctx)) {
		crash = fmt.Errorf("MySQL %s on %s ended by itself: %s%s", s.Build.Version, s.Address, s.proc.fate(), lastWords(s.logTail()))
	}
	return errors.Join(crash, s.folder.close())
}

// shutDown ends the process and says whether it went as it should.
// REQUIRES: s.mu.
func (s *Server) shutDown(ctx context.Context) bool {
	s.proc.signal(syscall.SIGTERM)
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-s.proc.done:
		return s.proc.end == nil
	case <-ctx.Done():
	case <-patience.C:
	}
	s.proc.kill()
	return true // the force was ours
}

// logTail returns the end of the server's log.
func (s *Server) logTail() string {
	text, err := os.ReadFile(s.folder.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-16384):])
}

// lastWords returns what a server wrote of its own crash, with the stack, or else its last lines.
func lastWords(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i, line := range lines {
		if strings.Contains(line, "got signal") {
			// The lines before may name a failed assertion.
			return ":\n" + strings.Join(lines[max(0, i-12):], "\n")
		}
	}
	return complaint(log)
}
