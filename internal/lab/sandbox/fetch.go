package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Fetch returns the build of v, from the cache or else from this machine's package sources. It may
// be called by several processes at once; all but one wait. An error leaves no half-made build, and
// the next call goes on with what was downloaded. ErrUnavailable says that trying again is no use.
//
// progress is told, in a few words, what is being done; nil is fine. Nothing is said when v is
// cached.
func Fetch(ctx context.Context, v Version, progress func(string)) (*Build, error) {
	if !supported {
		return nil, fmt.Errorf("%w: sandbox servers need Linux", ErrUnavailable)
	}
	if progress == nil {
		progress = func(string) {}
	}
	c, err := openCache()
	if err != nil {
		return nil, err
	}
	if v == Installed {
		return fetchInstalled(ctx, c, progress)
	}
	b, err := c.lookup(v)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	unlock, err := c.lock(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b, err = c.lookup(v) // the process that held the lock may have fetched it
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if err := fetchPackaged(ctx, c, v, progress); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", v, err)
	}
	return c.lookup(v)
}

// fetchPackaged brings v into the cache by the first recipe that can.
// REQUIRES: the cache's lock.
func fetchPackaged(ctx context.Context, c cache, v Version, progress func(string)) error {
	progress("reading the package sources of this machine")
	arch, err := findArchive(ctx, filepath.Join(c.download(), "apt-system"))
	if err != nil {
		return err
	}
	ways, err := recipes(v, arch.family)
	if err != nil {
		return err
	}
	var failures []error
	for _, way := range ways {
		err := cook(ctx, c, v, arch, way, progress)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}

// cook carries a recipe out: resolve, download, unpack, make the template, record.
// REQUIRES: the cache's lock.
func cook(ctx context.Context, c cache, v Version, arch archive, way recipe, progress func(string)) error {
	if way.jar != nil && runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w: %s holds a server for amd64 only", ErrUnavailable, way.jar.artifact)
	}
	if way.suite == "" {
		way.suite = arch.codename
	}
	source := newSource(filepath.Join(c.download(), "apt-"+way.suite), arch, way.suite)
	progress("reading the package index of " + way.suite)
	if err := source.update(ctx); err != nil {
		return err
	}
	debs, err := source.resolve(ctx, way.packages)
	if err != nil {
		return err
	}
	name, err := way.buildName(debs)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.build(name)); errors.Is(err, fs.ErrNotExist) { // else another Version led here before
		progress(fmt.Sprintf("fetching %s: %d packages, %d MB", name, len(debs), totalSize(debs)>>20))
		if err := bring(ctx, c, name, source, debs, way, progress); err != nil {
			return err
		}
	}
	if err := c.recordBuild(ctx, v, name); err != nil {
		return err
	}
	// What was downloaded is unpacked now. If it can't be removed that costs space and nothing else.
	_ = source.discard()
	if way.jar != nil {
		_ = discardJar(filepath.Join(c.download(), "maven"), *way.jar)
	}
	return nil
}

// bring downloads what the recipe needs and makes the build of it.
// REQUIRES: the cache's lock.
func bring(ctx context.Context, c cache, name string, from source, debs []deb, way recipe, progress func(string)) error {
	files, err := from.download(ctx, way.packages, debs)
	if err != nil {
		return err
	}
	var jarFile string
	if way.jar != nil {
		if jarFile, err = fetchJar(ctx, filepath.Join(c.download(), "maven"), *way.jar, progress); err != nil {
			return err
		}
	}
	progress("unpacking " + name)
	return assemble(ctx, c, name, files, jarFile, progress)
}

// buildName names the build after the release that the packages hold.
func (r recipe) buildName(debs []deb) (string, error) {
	if r.jar != nil {
		part := strings.Split(r.jar.artifact, ":")
		return "mysql-" + part[len(part)-1], nil
	}
	for _, d := range debs {
		if d.pkg != r.packages[0] {
			continue
		}
		if !strings.HasPrefix(d.version, r.series) {
			return "", fmt.Errorf("%w: suite %s now has %s %s, not %sx; the version %q takes what there is",
				ErrUnavailable, r.suite, d.pkg, d.version, r.series, Newest)
		}
		family, _, _ := strings.Cut(d.pkg, "-")
		return family + "-" + d.version, nil
	}
	return "", fmt.Errorf("resolve %s: apt-get did not list it", r.packages[0])
}

// assemble makes the build folder, complete or not at all.
// REQUIRES: the cache's lock.
func assemble(ctx context.Context, c cache, name string, debs []string, jarFile string, progress func(string)) error {
	left, _ := filepath.Glob(c.build("*.new")) // the pattern is well-formed
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what an interrupted fetch left: %w", err)
		}
	}
	staging := c.build(name + ".new")
	root := filepath.Join(staging, "root")
	if err := unpackDebs(ctx, root, slices.DeleteFunc(debs, unreadByServers)); err != nil {
		return err
	}
	if jarFile != "" {
		if err := unpackJar(filepath.Join(root, "opt", "mysql"), jarFile); err != nil {
			return err
		}
	}
	b, err := locate(root)
	if err != nil {
		return err
	}
	if b.Release, err = b.askRelease(ctx); err != nil {
		return err
	}
	progress("initialising " + name)
	if err := makeTemplate(ctx, b, filepath.Join(staging, "template")); err != nil {
		return err
	}
	if err := os.Rename(staging, c.build(name)); err != nil {
		return fmt.Errorf("put the build in its place: %w", err)
	}
	return nil
}

// recordBuild records the finished build as the answer for v.
func (c cache) recordBuild(ctx context.Context, v Version, name string) error {
	b, err := locate(filepath.Join(c.build(name), "root"))
	if err != nil {
		return err
	}
	release, err := b.askRelease(ctx)
	if err != nil {
		return err
	}
	return c.record(v, answer{Build: name, Release: release})
}

// fetchInstalled wraps the server that the machine has. Only its template is cached, under a name
// that changes when the program does.
//
// NB: a distribution may confine its own mysqld to its own folders (Ubuntu does, by AppArmor); such
// a server fails to initialise here, and its log says so.
func fetchInstalled(ctx context.Context, c cache, progress func(string)) (*Build, error) {
	b, err := locateInstalled()
	if err != nil {
		return nil, err
	}
	if b.Release, err = b.askRelease(ctx); err != nil {
		return nil, err
	}
	info, err := os.Stat(b.server)
	if err != nil {
		return nil, fmt.Errorf("look at the installed server: %w", err)
	}
	name := fmt.Sprintf("installed-%s-%d-%d", b.Release, info.Size(), info.ModTime().Unix())
	b.Version, b.cache, b.template = Installed, c, filepath.Join(c.build(name), "template")
	unlock, err := c.lock(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(b.template); err == nil {
		return b, nil
	}
	progress("initialising " + b.server)
	if err := makeTemplate(ctx, b, b.template); err != nil {
		return nil, err
	}
	return b, nil
}
