package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build is a server that can be started here. It does not change, and is safe for concurrent use.
type Build struct {
	Version Version // as asked for
	Release string  // what the server calls itself, such as "9.7.4-2", "10.11.14-MariaDB-0+deb12u2"

	server  string   // the program
	base    string   // its base folder; "" if it was built for where it is
	share   string   // messages and character sets
	plugins string   // "" if it has none
	bins    []string // folders with client programs
	loader  string   // the unpacked dynamic loader; "" to run programs directly
	libs    []string // folders with the unpacked libraries

	template string // an initialised data folder
	cache    cache
}

// locate finds the parts of a server in an unpacked root. It returns an error that is fs.ErrNotExist
// if there is none.
func locate(root string) (*Build, error) {
	b := &Build{}
	for _, place := range []string{"usr/sbin/mysqld", "usr/sbin/mariadbd", "opt/mysql/bin/mysqld"} {
		if _, err := os.Stat(filepath.Join(root, place)); err == nil {
			b.server = filepath.Join(root, place)
			b.base = filepath.Dir(filepath.Dir(b.server))
			break
		}
	}
	if b.server == "" {
		return nil, fmt.Errorf("find a server in %s: %w", root, fs.ErrNotExist)
	}
	for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
		dirs, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, fmt.Errorf("find the libraries: %w", err)
		}
		for _, dir := range dirs {
			b.libs = append(b.libs, dir)
			loaders, _ := filepath.Glob(filepath.Join(dir, "ld-linux*.so.*")) // the pattern is well-formed
			if len(loaders) > 0 && b.loader == "" {
				b.loader = loaders[0]
			}
		}
	}
	if b.loader == "" {
		return nil, fmt.Errorf("find the dynamic loader in %s: %w", root, fs.ErrNotExist)
	}
	b.share = firstDir(filepath.Join(b.base, "share", "mysql"), filepath.Join(b.base, "share", "mariadb"), filepath.Join(b.base, "share"))
	b.plugins = firstDir(filepath.Join(b.base, "lib", "mysql", "plugin"), filepath.Join(b.base, "lib", "plugin"))
	b.bins = []string{filepath.Join(b.base, "bin")}
	return b, nil
}

// locateInstalled finds the server that this machine has. Distributions keep it out of the PATH of
// ordinary users.
func locateInstalled() (*Build, error) {
	for _, name := range []string{"mysqld", "mariadbd", "/usr/sbin/mysqld", "/usr/sbin/mariadbd"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("find the installed server: %w", err)
		}
		return &Build{server: path, bins: filepath.SplitList(os.Getenv("PATH"))}, nil
	}
	return nil, fmt.Errorf("%w: no mysqld or mariadbd in PATH", ErrUnavailable)
}

// firstDir returns the first of the folders that exists, or "".
func firstDir(dirs ...string) string {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// IsMariaDB says whether the server is MariaDB rather than MySQL.
func (b *Build) IsMariaDB() bool { return strings.Contains(b.Release, "MariaDB") }

// Client returns the command that runs a client program of the build, such as mysql or mysqldump.
// It reads no configuration of the user. Server.ClientArgs says how to reach a server, which may be
// another build's: the builds 8.0 and 5.7 have no clients. Where the program is missing, running the
// command says so.
func (b *Build) Client(ctx context.Context, tool string, args ...string) *exec.Cmd {
	for _, dir := range b.bins {
		path := filepath.Join(dir, tool)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			cmd := b.command(ctx, path, append([]string{"--no-defaults"}, args...)...)
			cmd.Env = append(cmd.Env, "MYSQL_TEST_LOGIN_FILE="+os.DevNull) // --no-defaults still reads login paths
			return cmd
		}
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Err = fmt.Errorf("the build %s has no %s: %w", b.Version, tool, exec.ErrNotFound)
	return cmd
}

// command returns the command that runs a program of the build with the build's own libraries.
func (b *Build) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	var cmd *exec.Cmd
	if b.loader == "" {
		cmd = exec.CommandContext(ctx, program, args...)
	} else {
		cmd = exec.CommandContext(ctx, b.loader, append([]string{
			"--inhibit-cache", "--library-path", strings.Join(b.libs, ":"), "--argv0", program, program}, args...)...)
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "MYSQL"), strings.HasPrefix(name, "MARIADB"): // MYSQL_TCP_PORT, MYSQL_HOME, ...
		case strings.HasPrefix(name, "LD_"): // libraries of the machine for another libc
		case name == "NOTIFY_SOCKET", strings.HasPrefix(name, "LISTEN_"): // systemd's talk with our parent
		default:
			cmd.Env = append(cmd.Env, entry)
		}
	}
	return cmd
}

// serverArgs are the arguments that every run of the server needs, whatever it is to do.
func (b *Build) serverArgs() []string {
	args := []string{"--no-defaults"} // NB: must be the first
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("basedir", b.base)
	add("lc-messages-dir", b.share)
	if b.share != "" {
		add("character-sets-dir", filepath.Join(b.share, "charsets"))
	}
	add("plugin-dir", b.plugins)
	if os.Geteuid() == 0 {
		add("user", "root") // the server refuses to run as root unless told to
	}
	return args
}

// askRelease asks the program for its version.
func (b *Build) askRelease(ctx context.Context) (string, error) {
	out, err := b.command(ctx, b.server, "--no-defaults", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", b.server, err)
	}
	_, rest, _ := strings.Cut(string(out), "Ver ")
	release, _, ok := strings.Cut(rest, " ")
	if !ok {
		return "", fmt.Errorf("run %s: no version in %q", b.server, out)
	}
	return release, nil
}
