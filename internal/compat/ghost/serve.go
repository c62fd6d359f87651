package ghost

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
)

// Run is what may be commanded.
type Run struct {
	Control *operator.Control
	// End ends it, and does not wait for that. by says who has wanted it.
	End   func(by string)
	Hooks *Hooks
	// Follow has it look at these replicas, as host:port, and no others.
	Follow func(ctx context.Context, replicas []string) error
}

// server takes commands: a line for each connection.
type server struct {
	speaker *Speaker
	run     Run
	unix    string // the socket file
	lines   []net.Listener
	open    sync.WaitGroup
}

const (
	// longestCommand is that of a line.
	longestCommand = 64 << 10
	// patience is how long somebody may take to say one, and to read the answer.
	patience = 10 * time.Second
	// panicEvery is the time between two looks for the file of --panic-flag-file.
	panicEvery = 100 * time.Millisecond
)

// socketFile is the path of the socket.
func (a *Asked) socketFile() string {
	if path := a.said.text("serve-socket-file"); path != "" {
		return path
	}
	path := fmt.Sprintf("/tmp/gh-ost.%s.%s.sock", a.Table.Schema, a.Table.Table)
	if len(path) > longestPath || escape.Line(path) != path || strings.Contains(path[len("/tmp/"):], "/") {
		path = fmt.Sprintf("/tmp/gh-ost.%x.sock", sha256.Sum256([]byte(path)))[:longestPath/2] + ".sock"
	}
	return path
}

// longestPath is that of a socket.
const longestPath = 100

// Serve takes commands for a run by a socket and, if asked, by TCP, and watches for the file that
// ends it, until stop is called.
func (s *Speaker) Serve(run Run) (stop func(), err error) {
	srv := &server{speaker: s, run: run, unix: s.asked.socketFile()}
	s.mu.Lock()
	s.cfg, s.now = run.Control.Settings, run.Control.Standing
	s.mu.Unlock()
	if err := srv.listen(); err != nil {
		srv.close()
		return nil, err
	}
	for _, l := range srv.lines {
		srv.open.Go(func() { srv.accept(l) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	if path := s.asked.said.text("panic-flag-file"); path != "" {
		srv.open.Go(func() { srv.watch(ctx, path) })
	}
	srv.open.Go(func() { run.Hooks.status(ctx) })
	return func() {
		cancel()
		srv.close()
		srv.open.Wait()
	}, nil
}

func (s *server) listen() error {
	asked := s.speaker.asked
	if err := clearSocket(s.unix, asked.said.on("initially-drop-socket-file")); err != nil {
		return err
	}
	unix, err := net.Listen("unix", s.unix)
	if err != nil {
		return fmt.Errorf("--serve-socket-file: %w", err)
	}
	s.lines = append(s.lines, unix)
	if err := os.Chmod(s.unix, 0o700); err != nil {
		return fmt.Errorf("--serve-socket-file: %w", err)
	}
	s.speaker.log.info("Listening on unix socket file: %s", s.unix)
	port := int(asked.said.number("serve-tcp-port"))
	if port == 0 {
		return nil
	}
	tcp, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return fmt.Errorf("--serve-tcp-port: %w", err)
	}
	s.lines = append(s.lines, tcp)
	s.speaker.Note(fmt.Sprintf("Listening on TCP port %d: whoever can reach it can command the run", port))
	return nil
}

// clearSocket removes a socket file at which nobody listens, or any that there is.
func clearSocket(path string, any bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--serve-socket-file: %w", err)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("--serve-socket-file: %s exists, and is not a socket", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			_ = conn.Close()
		}
		if !any {
			return fmt.Errorf(
				"--serve-socket-file: another run listens at %s. Name another file, or remove this one by --initially-drop-socket-file",
				path,
			)
		}
	}
	return os.Remove(path)
}

func (s *server) close() {
	for _, l := range s.lines {
		_ = l.Close() // it removes the socket file
	}
}

func (s *server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // it is closed
		}
		s.open.Go(func() { s.converse(conn) })
	}
}

// converse takes one command and answers it.
func (s *server) converse(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(io.LimitReader(conn, longestCommand)).ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer := s.obey(ctx, strings.TrimSpace(line))
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, escape.Text(answer)) // who is gone has the command obeyed all the same
}

// watch ends the run once there is a file.
func (s *server) watch(ctx context.Context, path string) {
	repeat(ctx, panicEvery, func() (goOn bool) {
		if _, err := os.Stat(path); err != nil {
			return true
		}
		s.run.End("panic-flag-file " + path)
		return false
	})
}

// repeat does something again and again until it says not to go on, or the context ends.
func repeat(ctx context.Context, every time.Duration, do func() (goOn bool)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for goOn := true; goOn; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			goOn = do()
		}
	}
}
