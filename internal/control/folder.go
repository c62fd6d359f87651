package control

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

// CheckFolder fails with ErrFolder where runs could not have their sockets in a folder. One that is not there they make.
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
func listen(folder, table, server string) (l net.Listener, path string, err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err := checkFolder(folder); err != nil {
		return nil, "", err
	}
	if path, err = socketOf(folder, table, server); err != nil {
		return nil, "", err
	}
	listener, err := listenAt(folder, path)
	if err != nil && !errors.Is(err, ErrInUse) {
		err = fmt.Errorf("make the control socket: %w", err)
	}
	return listener, path, err
}

// listenAt makes a socket under a passing name, and gives it its own when it answers: one that is found and does not is dead.
func listenAt(folder, path string) (net.Listener, error) {
	passing := passingName(folder)
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: passing, Net: "unix"})
	if err != nil {
		return nil, err
	}
	made.SetUnlinkOnClose(false)
	defer os.Remove(passing)
	if err = os.Chmod(passing, 0o600); err == nil {
		err = locked(folder, func() error {
			if !removeDead(path) {
				return fmt.Errorf("%w %s", ErrInUse, path)
			}
			return os.Rename(passing, path)
		})
	}
	if err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// passingName is one that nobody looks for.
func passingName(folder string) string { return filepath.Join(folder, "."+rand.Text()[:8]) }

// removeDead removes a socket on which nobody answers any more, and says whether it is gone. REQUIRES: the folder is locked, so that
// it is not another one by now.
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
