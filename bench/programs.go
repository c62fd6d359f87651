package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"midstream/internal/lab/sandbox"
)

// program is a tool that can run here: unpacked, with its own libraries, or the machine's own.
type program struct {
	argv    []string // what comes before its arguments
	env     []string // in addition
	version string
}

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := append(append([]string{}, p.argv...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+os.DevNull) // no option files of the user
	cmd.Env = append(cmd.Env, p.env...)
	return cmd
}

// programs are the available programs.
type programs struct {
	sysbench *program
	ptOSC    *program            // nil if not available
	built    map[string]*program // tools of rivals that the bench built
	missing  []string            // the reasons
}

// findPrograms fetches the tools, or uses the machine's own if that fails. Without sysbench there
// is no bench; without pt-online-schema-change there is one peer less.
func findPrograms(ctx context.Context, say func(string, ...any)) (programs, error) {
	var found programs
	sysbench, err := findProgram(ctx, "sysbench", "sysbench", say)
	if err != nil {
		return found, err
	}
	found.sysbench = &sysbench
	pt, err := findProgram(ctx, "percona-toolkit", "pt-online-schema-change", say)
	if err != nil {
		found.missing = append(found.missing, "pt-osc is left out: "+err.Error())
		say("%s", found.missing[0])
		return found, nil
	}
	found.ptOSC = &pt
	return found, nil
}

func findProgram(ctx context.Context, pkg, name string, say func(string, ...any)) (program, error) {
	root, err := sandbox.FetchTool(ctx, pkg, func(text string) { say("%s", text) })
	var p program
	if err == nil {
		p, err = unpacked(root, name)
	}
	if err == nil {
		p.version, err = askVersion(ctx, p)
	}
	if err == nil {
		return p, nil
	}
	path, missing := exec.LookPath(name)
	if missing != nil {
		return program{}, fmt.Errorf("cannot get %s: %w", name, err)
	}
	say("taking %s, because the packaged one is not available: %v", path, err)
	p = program{argv: []string{path}}
	p.version, err = askVersion(ctx, p)
	return p, err
}

func askVersion(ctx context.Context, p program) (string, error) {
	out, err := p.command(ctx, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w: %s", p.argv[len(p.argv)-1], err, tail(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// unpacked returns the program of a root that sandbox.FetchTool made. It runs by the root's own
// dynamic loader, with its libraries, Perl modules and Lua scripts.
//
// Debian's programs use MariaDB's client library, whose caching_sha2_password is a plugin with a
// fixed path; MARIADB_PLUGIN_DIR overrides this path. The server's administrator has no password,
// so neither TLS nor the server's public key is needed for it.
func unpacked(root, name string) (program, error) {
	glob := func(patterns ...string) (paths []string) {
		for _, pattern := range patterns {
			some, _ := filepath.Glob(filepath.Join(root, pattern)) // the pattern is well-formed
			paths = append(paths, some...)
		}
		return paths
	}
	loaders := glob("lib/*-linux-gnu*/ld-linux*.so.*", "usr/lib/*-linux-gnu*/ld-linux*.so.*")
	libraries := glob("lib/*-linux-gnu*", "usr/lib/*-linux-gnu*")
	if len(loaders) == 0 {
		return program{}, fmt.Errorf("find the dynamic loader in %s: %w", root, os.ErrNotExist)
	}
	path := filepath.Join(root, "usr", "bin", name)
	if _, err := os.Stat(path); err != nil {
		return program{}, fmt.Errorf("find %s: %w", name, err)
	}
	// NB: the machine's loader cache names libraries of another libc.
	p := program{argv: []string{loaders[0], "--inhibit-cache", "--library-path", strings.Join(libraries, ":")}}
	if plugins := glob("usr/lib/*-linux-gnu*/libmariadb3/plugin"); len(plugins) > 0 {
		p.env = append(p.env, "MARIADB_PLUGIN_DIR="+plugins[0])
	}
	if filepath.Base(path) == "sysbench" {
		p.env = append(p.env, "LUA_PATH="+filepath.Join(root, "usr/share/sysbench/?.lua")+";;")
	} else {
		modules := glob("usr/lib/*-linux-gnu*/perl5/*", "usr/share/perl5",
			"usr/lib/*-linux-gnu*/perl-base", "usr/lib/*-linux-gnu*/perl/5.*", "usr/share/perl/5.*")
		p.env = append(p.env, "PERL5LIB="+strings.Join(modules, ":"), "LC_ALL=C")
		p.argv = append(p.argv, filepath.Join(root, "usr", "bin", "perl"))
	}
	p.argv = append(p.argv, path)
	return p, nil
}

// run runs a program to its end. The error has the last lines that it printed.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(string(output)))
	}
	return nil
}

// tail returns the last lines of a program's output, as one.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}
