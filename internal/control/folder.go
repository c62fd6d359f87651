package control

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Errors of the folder and its sockets.
var (
	// ErrFolder says that the folder can't be trusted, or not be made.
	ErrFolder = errors.New("the folder of the control sockets can't be used")
	// ErrInUse says that another process answers on the socket.
	ErrInUse = errors.New("another run of this table answers on the control socket")
)

// longestPath is what the address of a Unix socket holds on every system.
const longestPath = 103

// Folder returns where the sockets of this user are, unless somebody says another folder.
func Folder(getenv func(string) string) string {
	if runtime := getenv("XDG_RUNTIME_DIR"); runtime != "" {
		return filepath.Join(runtime, "midstream")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("midstream-%d", os.Getuid()))
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
		return fmt.Errorf("%w: %s is no folder", ErrFolder, folder)
	case !ours(info):
		return fmt.Errorf("%w: %s is another user's", ErrFolder, folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: others may look into %s (chmod 700)", ErrFolder, folder)
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

// listen makes the socket of a run, in place of one that nobody answers on any more. It fails with ErrFolder and
// ErrInUse.
func listen(folder, table, server string) (net.Listener, error) {
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
	if _, err := os.Lstat(path); err == nil && !removeDead(path) {
		return nil, fmt.Errorf("%w %s", ErrInUse, path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	return listener, nil
}

// removeDead removes a socket on which nobody answers any more, and says whether it is gone.
func removeDead(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return false
	}
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) && os.Remove(path) == nil
}
