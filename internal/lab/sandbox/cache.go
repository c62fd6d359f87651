package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// cache is the folder that everything fetched lives in. The number in its name changes with the
// layout, so that two releases of this program never read each other's files.
type cache struct{ dir string }

func openCache() (cache, error) {
	base := os.Getenv("MIDSTREAM_CACHE")
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return cache{}, fmt.Errorf("find a cache folder (set MIDSTREAM_CACHE): %w", err)
		}
		base = filepath.Join(user, "midstream")
	}
	dir, err := filepath.Abs(filepath.Join(base, "sandbox-1"))
	if err != nil {
		return cache{}, fmt.Errorf("find a cache folder: %w", err)
	}
	for _, sub := range []string{"requests", "builds", "download", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return cache{}, fmt.Errorf("make the cache folder (MIDSTREAM_CACHE chooses another): %w", err)
		}
	}
	return cache{dir}, nil
}

func (c cache) download() string         { return filepath.Join(c.dir, "download") }
func (c cache) run() string              { return filepath.Join(c.dir, "run") }
func (c cache) build(name string) string { return filepath.Join(c.dir, "builds", name) }
func (c cache) request(v Version) string { return filepath.Join(c.dir, "requests", string(v)+".json") }

// lock waits until this process alone may change the cache, and returns the way to give it back.
func (c cache) lock(ctx context.Context, progress func(string)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the cache's lock: %w", err)
	}
	for said := false; ; {
		ok, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock the cache: %w", err)
		}
		if ok {
			return func() { f.Close() }, nil // closing the file drops the lock
		}
		if !said {
			progress("waiting for another process that is fetching")
			said = true
		}
		// A waiting flock can't be cancelled, so ask again now and then.
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the cache's lock: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answer is the record of a request: which build serves it. It is written after everything that it
// promises, so reading it needs no lock.
type answer struct {
	Build   string `json:"build"`   // name of a folder in builds
	Release string `json:"release"` // as the server itself says, such as 9.7.4-2
}

// lookup returns the build that an earlier fetch recorded for v, or fs.ErrNotExist.
func (c cache) lookup(v Version) (*Build, error) {
	text, err := os.ReadFile(c.request(v))
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil || a.Build == "" {
		return nil, fs.ErrNotExist // damaged: fetch again
	}
	b, err := locate(filepath.Join(c.build(a.Build), "root"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist // somebody cleaned up half of the cache: fetch again
	}
	if err != nil {
		return nil, err
	}
	b.Version, b.Release = v, a.Release
	b.template, b.cache = filepath.Join(c.build(a.Build), "template"), c
	if _, err := os.Stat(b.template); err != nil {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

// record makes the build the answer for v.
func (c cache) record(v Version, a answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("record the build: %w", err)
	}
	temp := c.request(v) + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("record the build: %w", err)
	}
	if err := os.Rename(temp, c.request(v)); err != nil {
		return fmt.Errorf("record the build: %w", err)
	}
	return nil
}
