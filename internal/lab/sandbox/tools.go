package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FetchTool unpacks a package of the suite that this machine runs, with everything it depends on
// down to the C library, into the cache, and returns the folder: the root of a file system in
// which it is installed as far as unpacking goes. Like Fetch, it may be called by several
// processes at once, and leaves no half-made folder.
func FetchTool(ctx context.Context, pkg string, progress func(string)) (root string, err error) {
	c, err := openCache()
	if err != nil {
		return "", err
	}
	unlock, err := c.lock(ctx, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	root = c.build("tool-" + pkg)
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	progress("fetching " + pkg + " from this machine's package sources")
	arch, err := findArchive(ctx, filepath.Join(c.download(), "apt-system"))
	if err != nil {
		return "", err
	}
	from := newSource(filepath.Join(c.download(), "apt-"+arch.codename), arch, arch.codename)
	if err := from.update(ctx); err != nil {
		return "", err
	}
	debs, err := from.resolve(ctx, []string{pkg})
	if err != nil {
		return "", err
	}
	files, err := from.download(ctx, []string{pkg}, debs)
	if err != nil {
		return "", err
	}
	staging := root + ".new"
	if err := os.RemoveAll(staging); err != nil {
		return "", fmt.Errorf("remove what an interrupted fetch left: %w", err)
	}
	if err := unpackDebs(ctx, staging, files); err != nil {
		return "", err
	}
	if err := os.Rename(staging, root); err != nil {
		return "", fmt.Errorf("put the tool in its place: %w", err)
	}
	_ = from.discard() // what was downloaded is unpacked now
	return root, nil
}
