package socket

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrFolder says that the folder of the sockets can't be trusted, or not be made.
var ErrFolder = errors.New("cannot use the folder of the control sockets")

// longestPath is what the address of a Unix socket holds on every system.
const longestPath = 103

// Folder returns where the sockets of this user are, unless somebody says another folder.
func Folder(getenv func(string) string) string {
	if runtime := getenv("XDG_RUNTIME_DIR"); runtime != "" {
		return filepath.Join(runtime, "midstream")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("midstream-%d", os.Getuid()))
}

// CheckFolder fails with ErrFolder where runs could not have their sockets in a folder. One that is
// not there they make.
func CheckFolder(folder string) error {
	if _, err := socketOf(folder, "", ""); err != nil {
		return err
	}
	if err := checkFolder(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkFolder fails with ErrFolder unless the folder is this user's, and nobody else's to look into.
func checkFolder(folder string) error {
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrFolder, err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder", ErrFolder, folder)
	case !ours(info):
		return fmt.Errorf("%w: another user owns %s", ErrFolder, folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: other users may read %s; run chmod 700", ErrFolder, folder)
	}
	return nil
}

// socketOf is the path of the socket of a run: the table's name, as far as there is room, and what tells runs on
// several servers apart.
func socketOf(folder, table, server string) (string, error) {
	digest := sha256.Sum256([]byte(table + "\x00" + server))
	tail := fmt.Sprintf("-%x.sock", digest[:4])
	room := longestPath - len(filepath.Join(folder, "x")) + 1 - len(tail)
	if room < 1 {
		return "", fmt.Errorf("%w: the path %s is too long for a socket", ErrFolder, folder)
	}
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, table)
	return filepath.Join(folder, strings.TrimLeft(plain[:min(room, len(plain))], ".")+tail), nil
}

// socket is the socket of a run. It answers from its beginning, under a passing name; it has its
// own as soon as no other run of the table answers on that, which one that is just ending does for
// a moment.
type socket struct {
	net.Listener
	folder, path string

	mu      sync.Mutex
	at      string // its name at this moment
	settled chan struct{}
	gone    chan struct{}
}

// settleEvery is how often a socket asks for its name.
const settleEvery = 200 * time.Millisecond

// listen makes the socket of a run, in place of one that nobody answers on any more. It fails with ErrFolder.
func listen(folder, table, server string) (*socket, error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	path, err := socketOf(folder, table, server)
	if err != nil {
		return nil, err
	}
	s := &socket{folder: folder, path: path, at: passingName(folder), settled: make(chan struct{}), gone: make(chan struct{})}
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.at, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("create the control socket: %w", err)
	}
	made.SetUnlinkOnClose(false)
	s.Listener = made
	if err = os.Chmod(s.at, 0o600); err == nil {
		err = s.settle()
	}
	if err != nil {
		_ = made.Close()
		_ = os.Remove(s.at)
		return nil, fmt.Errorf("create the control socket: %w", err)
	}
	go s.settleLater()
	return s, nil
}

// settle gives the socket its own name if no other has it.
func (s *socket) settle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return locked(s.folder, func() error {
		if !removeDead(s.path) {
			return nil
		}
		err := os.Rename(s.at, s.path)
		if err == nil {
			s.at = s.path
		}
		return err
	})
}

// settleLater waits for the name.
func (s *socket) settleLater() {
	defer close(s.settled)
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	for s.now() != s.path {
		select {
		case <-s.gone:
			return
		case <-ticker.C:
			_ = s.settle() // nothing else can be done about a folder that is gone
		}
	}
}

// now is where the socket answers.
func (s *socket) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// remove takes the name away. REQUIRES: the listener is closed, and remove is called once.
func (s *socket) remove() {
	close(s.gone)
	<-s.settled
	_ = locked(s.folder, func() error { removeDead(s.at); return nil }) // the next run may have the name by now
}

// passingName is one that nobody looks for.
func passingName(folder string) string { return filepath.Join(folder, "."+rand.Text()[:8]) }

// removeDead removes a socket on which nobody answers any more, and says whether it is gone.
// REQUIRES: the folder is locked, so that it is not another one by now.
func removeDead(path string) bool {
	if dead(path) {
		_ = os.Remove(path)
	}
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// locked does something that no other process does in the folder meanwhile.
func locked(folder string, do func() error) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer file.Close() // which unlocks it
	if err := exclude(file); err != nil {
		return err
	}
	return do()
}

// dead says that nobody answers on a socket.
func dead(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
