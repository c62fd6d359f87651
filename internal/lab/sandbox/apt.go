package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// archive is the distribution's own package archive, as apt-get of this machine is set up to use it.
type archive struct {
	family   string // "Debian", "Ubuntu"
	site     string // what stands in the sources for it
	codename string // of the suite this machine runs
}

// findArchive asks apt-get which of its sources is the distribution's. dir is for a private index,
// which is needed where the machine's own has been removed, as in container images; it is gone when
// this returns.
func findArchive(ctx context.Context, dir string) (archive, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return archive{}, fmt.Errorf("%w: apt-get is needed to fetch it (or put a mysqld in PATH and use the version %q)",
			ErrUnavailable, Installed)
	}
	const format = "$(CREATED_BY)|$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(SITE)|$(RELEASE)|$(CODENAME)"
	out, err := runTool(ctx, "apt-get", "indextargets", "--format", format)
	if err != nil {
		return archive{}, err
	}
	if found := pickArchive(string(out)); found.site != "" {
		return found, nil
	}
	defer os.RemoveAll(dir)
	conf, err := writeAptConf(dir, "")
	if err != nil {
		return archive{}, err
	}
	if _, err := runTool(ctx, "apt-get", "-c", conf, "-qq", "update"); err != nil {
		return archive{}, err
	}
	if out, err = runTool(ctx, "apt-get", "-c", conf, "indextargets", "--format", format); err != nil {
		return archive{}, err
	}
	found := pickArchive(string(out))
	if found.site == "" {
		return archive{}, fmt.Errorf("%w: no source of apt-get is Debian's or Ubuntu's own", ErrUnavailable)
	}
	return found, nil
}

// pickArchive finds the main archive among apt's index targets. The security archive carries
// another label or a suite with a dash; third parties carry another origin.
func pickArchive(targets string) archive {
	for line := range strings.Lines(targets) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 7 || f[0] != "Packages" || f[3] != "main" || strings.Contains(f[5], "-") {
			continue
		}
		if (f[1] == "Debian" || f[1] == "Ubuntu") && f[2] == f[1] {
			return archive{family: f[1], site: f[4], codename: f[6]}
		}
	}
	return archive{}
}

// source is one suite of the archive, read by apt-get with folders of our own: nothing that it does
// is seen by, or depends on, the packages of this machine.
type source struct {
	dir     string
	archive archive
	suite   string
}

func newSource(dir string, a archive, suite string) source { return source{dir, a, suite} }

func (s source) conf() string { return filepath.Join(s.dir, "apt.conf") }

// discard removes the source's folders.
func (s source) discard() error { return os.RemoveAll(s.dir) }

// update fetches the index of the suite; apt-get checks its signature.
func (s source) update(ctx context.Context) error {
	components := "main"
	if s.archive.family == "Ubuntu" {
		components = "main universe"
	}
	options := "target=Packages"
	for _, ext := range []string{"gpg", "pgp"} {
		ring := "/usr/share/keyrings/" + strings.ToLower(s.archive.family) + "-archive-keyring." + ext
		if _, err := os.Stat(ring); err == nil {
			options += " signed-by=" + ring
			break
		}
	}
	line := fmt.Sprintf("deb [%s] %s %s %s\n", options, s.archive.site, s.suite, components)
	if _, err := writeAptConf(s.dir, line); err != nil {
		return err
	}
	_, err := runTool(ctx, "apt-get", "-c", s.conf(), "-qq", "update")
	return err
}

// writeAptConf makes dir apt's private world and returns the configuration that says so, to be read
// after the machine's own. sources is the text of a sources list; "" leaves the machine's sources in
// force. Hooks of the machine are taken out: they would tell other programs about an update of
// theirs that did not take place, and one of Docker's empties the machine's package cache.
func writeAptConf(dir, sources string) (string, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "none/partial", "log"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", fmt.Errorf("make apt's private folders: %w", err)
		}
	}
	var text bytes.Buffer
	for _, hook := range []string{"Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"} {
		fmt.Fprintf(&text, "#clear APT::Update::%s;\n", hook)
	}
	set := func(key, value string) { fmt.Fprintf(&text, "%s \"%s\";\n", key, value) }
	set("Dir::State", dir)
	set("Dir::State::lists", filepath.Join(dir, "lists"))
	set("Dir::State::status", filepath.Join(dir, "status"))
	set("Dir::State::extended_states", filepath.Join(dir, "extended_states"))
	set("Dir::Cache", filepath.Join(dir, "cache"))
	set("Dir::Cache::archives", filepath.Join(dir, "cache", "archives"))
	set("Dir::Log", filepath.Join(dir, "log"))
	if sources != "" {
		set("Dir::Etc::sourcelist", filepath.Join(dir, "sources.list"))
		set("Dir::Etc::sourceparts", "/dev/null")
		set("Dir::Etc::preferences", "/dev/null")
		set("Dir::Etc::preferencesparts", "/dev/null")
	}
	set("APT::Default-Release", "")
	set("APT::Install-Recommends", "false")
	set("APT::Install-Suggests", "false")
	set("APT::Keep-Downloaded-Packages", "true")
	set("APT::Update::Error-Mode", "any") // an index that could not be fetched is an error
	set("APT::Sandbox::User", "root")     // apt's own user can't enter a home folder; has no effect unless run by root
	set("Acquire::Languages", "none")
	set("Acquire::ForceHash", "sha256")
	set("Acquire::Retries", "3")
	for name, content := range map[string]string{"status": "", "sources.list": sources, "apt.conf": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return "", fmt.Errorf("write apt's private configuration: %w", err)
		}
	}
	return filepath.Join(dir, "apt.conf"), nil
}

// deb is one package file of the archive.
type deb struct {
	file    string // its name, also in apt's cache
	pkg     string
	version string // without the epoch
	size    int64
	sha256  string
}

func totalSize(debs []deb) (n int64) {
	for _, d := range debs {
		n += d.size
	}
	return n
}

// resolve lists the packages with everything that they need, libc included.
// REQUIRES: update.
func (s source) resolve(ctx context.Context, packages []string) ([]deb, error) {
	args := []string{"-c", s.conf(), "-qq", "-y",
		"-o", "Dir::Cache::archives=" + filepath.Join(s.dir, "none"), // NB: files in apt's cache would not be listed
		"--print-uris", "install"}
	out, err := runTool(ctx, "apt-get", append(args, packages...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: suite %s of this machine's archive does not have it: %w", ErrUnavailable, s.suite, err)
	}
	return parseURIs(string(out))
}

// parseURIs reads lines such as
//
//	'http://.../mysql-server-core_9.7.4-2_amd64.deb' mysql-server-core_9.7.4-2_amd64.deb 27399324 SHA256:ab...
func parseURIs(out string) ([]deb, error) {
	var debs []deb
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || !strings.HasPrefix(f[0], "'") {
			continue
		}
		d := deb{file: f[1]}
		var isSHA bool
		d.sha256, isSHA = strings.CutPrefix(f[3], "SHA256:")
		size, err := strconv.ParseInt(f[2], 10, 64)
		name := strings.Split(f[1], "_") // package_version_architecture.deb
		if err != nil || !isSHA || len(name) != 3 || filepath.Base(d.file) != d.file {
			return nil, fmt.Errorf("read apt-get's list of files: unexpected line %q", strings.TrimSpace(line))
		}
		d.size, d.pkg, d.version = size, name[0], name[1]
		if _, after, ok := strings.Cut(d.version, "%3a"); ok {
			d.version = after
		}
		debs = append(debs, d)
	}
	if len(debs) == 0 {
		return nil, errors.New("read apt-get's list of files: it is empty")
	}
	return debs, nil
}

// download brings every deb into apt's private cache and returns the paths. apt-get itself goes on
// with a partial file, but trusts a finished one by its size alone; so each is hashed here, and one
// that is not what the index says is thrown away and fetched again.
func (s source) download(ctx context.Context, packages []string, debs []deb) ([]string, error) {
	archives := filepath.Join(s.dir, "cache", "archives")
	for try := 1; ; try++ {
		files, bad, err := verifyDebs(archives, debs)
		if err != nil {
			return nil, err
		}
		if len(bad) == 0 {
			return files, nil
		}
		if try > 3 {
			return nil, fmt.Errorf("download %s: its SHA-256 is not the one in the index, after %d tries", bad[0], try-1)
		}
		args := []string{"-c", s.conf(), "-qq", "-y", "--download-only", "install"}
		if _, err := runTool(ctx, "apt-get", append(args, packages...)...); err != nil {
			return nil, err
		}
	}
}

// verifyDebs returns the paths of the debs in dir, and those that are missing or were wrong and have
// been removed.
func verifyDebs(dir string, debs []deb) (files, bad []string, err error) {
	for _, d := range debs {
		path := filepath.Join(dir, d.file)
		files = append(files, path)
		sum, err := fileSHA256(path)
		if err == nil && sum == d.sha256 {
			continue
		}
		bad = append(bad, d.file)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, fmt.Errorf("remove a damaged download: %w", err)
		}
	}
	return files, bad, nil
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
