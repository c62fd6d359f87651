package sandbox

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// unreadByServers tells the packages that no server or client reads, a third of the space.
func unreadByServers(file string) bool {
	name := filepath.Base(file)
	return strings.HasPrefix(name, "perl") || strings.HasPrefix(name, "libperl") || strings.HasPrefix(name, "debconf")
}

// unpackDebs unpacks the packages into root, without running anything of theirs and without
// their manuals.
func unpackDebs(ctx context.Context, root string, files []string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make the build's folder: %w", err)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.NumCPU())
	for _, file := range files {
		work.Go(func() error {
			_, err := runTool(ctx, "dpkg-deb", "--extract", file, root)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for _, unread := range []string{"doc", "man", "locale", "info", "lintian"} {
		if err := os.RemoveAll(filepath.Join(root, "usr", "share", unread)); err != nil {
			return fmt.Errorf("leave out the manuals: %w", err)
		}
	}
	return nil
}

// unpackJar unpacks the server that the jar holds into dir.
func unpackJar(dir, jarFile string) error {
	z, err := zip.OpenReader(jarFile)
	if err != nil {
		return fmt.Errorf("open the jar: %w", err)
	}
	defer z.Close()
	inner, err := z.Open("mysql-Linux-amd64.tar.gz")
	if err != nil {
		return fmt.Errorf("find the server in the jar: %w", err)
	}
	defer inner.Close()
	plain, err := gzip.NewReader(inner)
	if err != nil {
		return fmt.Errorf("open the server's archive: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the server's folder: %w", err)
	}
	root, err := os.OpenRoot(dir) // no name in the archive can lead out of it
	if err != nil {
		return fmt.Errorf("open the server's folder: %w", err)
	}
	defer root.Close()
	if err := unpackTar(root, tar.NewReader(plain)); err != nil {
		return fmt.Errorf("unpack the server: %w", err)
	}
	return nil
}

func unpackTar(root *os.Root, t *tar.Reader) error {
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Clean(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			err = writeFile(root, name, h.FileInfo().Mode().Perm(), t)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, perm fs.FileMode, from io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// copyTree copies a folder of plain files with their permissions. The kernel does the copying, and
// shares the blocks where the file system can.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, info.Mode().Perm())
		}
		return copyFile(target, path, info.Mode().Perm())
	})
}

func copyFile(to, from string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
