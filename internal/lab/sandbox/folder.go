package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folder is where one server keeps its files. The process that runs the server holds its lock.
type folder struct {
	dir       string
	lock      *os.File
	throwaway bool
}

func (f folder) data() string   { return filepath.Join(f.dir, "data") }
func (f folder) temp() string   { return filepath.Join(f.dir, "tmp") }
func (f folder) log() string    { return filepath.Join(f.dir, "error.log") }
func (f folder) pid() string    { return filepath.Join(f.data(), "mysqld.pid") }
func (f folder) socket() string { return filepath.Join(f.data(), "mysqld.sock") }

// openFolder takes dir for a server, or a new folder in run if dir is "".
func openFolder(run, dir string) (folder, error) {
	if dir == "" {
		return newRunFolder(run)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, fmt.Errorf("make the server's folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return folder{}, fmt.Errorf("make the server's folder: %w", err)
	}
	lock, err := lockPath(filepath.Join(dir, "lock"))
	if err != nil {
		return folder{}, fmt.Errorf("take the server's folder %s: %w", dir, err)
	}
	return folder{dir: dir, lock: lock}, nil
}

// newRunFolder makes a folder of a random name in run. Its lock stands beside it and is taken first,
// so a folder whose lock is free belongs to nobody.
func newRunFolder(run string) (folder, error) {
	for {
		dir := filepath.Join(run, strings.ToLower(rand.Text()[:10]))
		lock, err := lockPath(dir + ".lock")
		if errors.Is(err, errLocked) {
			continue // a sweeper was quicker, see sweep
		}
		if err != nil {
			return folder{}, fmt.Errorf("make the server's folder: %w", err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			lock.Close()
			return folder{}, fmt.Errorf("make the server's folder: %w", err)
		}
		return folder{dir: dir, lock: lock, throwaway: true}, nil
	}
}

var errLocked = errors.New("another process is using it")

// lockPath opens and locks a lock file. It returns errLocked if another holds it, or has just
// removed it.
func lockPath(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = errLocked
	}
	if err == nil {
		var ours, there os.FileInfo
		if ours, err = f.Stat(); err == nil {
			if there, err = os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(ours, there) {
				err = errLocked
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the folders in run whose process died without a Stop. It is a courtesy: what can't
// be removed is left to the next.
func sweep(run string) {
	locks, _ := filepath.Glob(filepath.Join(run, "*.lock")) // the pattern is well-formed
	for _, path := range locks {
		lock, err := lockPath(path)
		if err != nil {
			continue
		}
		f := folder{dir: strings.TrimSuffix(path, ".lock"), lock: lock, throwaway: true}
		_ = f.close()
	}
}

// fill puts an initialised data folder in place if there is none, and says whether it did.
func (f folder) fill(ctx context.Context, b *Build, o Options) (fresh bool, err error) {
	if err := os.MkdirAll(f.temp(), 0o750); err != nil {
		return false, fmt.Errorf("make the server's folder: %w", err)
	}
	if _, err := os.Stat(f.data()); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	staging := f.data() + ".new"
	if err := os.RemoveAll(staging); err != nil {
		return false, fmt.Errorf("remove what an interrupted start left: %w", err)
	}
	if extra := o.fromBirth(); len(extra) > 0 {
		err = initialise(ctx, b, staging, extra)
	} else if err = copyTree(staging, b.template); err != nil {
		err = fmt.Errorf("copy the data folder's template: %w", err)
	}
	if err != nil {
		return false, err
	}
	if err := os.Rename(staging, f.data()); err != nil {
		return false, fmt.Errorf("put the data folder in its place: %w", err)
	}
	return true, nil
}

// close removes a throwaway folder and gives the lock back.
// REQUIRES: no server runs on it.
func (f folder) close() error {
	defer f.lock.Close()
	if !f.throwaway {
		return nil
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("remove the server's folder: %w", err)
	}
	if err := os.Remove(f.dir + ".lock"); err != nil {
		return fmt.Errorf("remove the server's folder: %w", err)
	}
	return nil
}
