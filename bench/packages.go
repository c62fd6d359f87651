package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// unpackPackages brings packages of this machine's own suite, with everything they need down to the
// C library, into dir: downloaded and checked by apt-get with private folders, unpacked, and not
// installed. dir is complete or absent.
//
// internal/sandbox does the same for servers, from other suites; its parts are not exported.
func unpackPackages(ctx context.Context, dir string, packages []string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("fetch %s: %w", strings.Join(packages, ", "), err)
	}
	private := dir + ".apt"
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(private, sub), 0o755); err != nil {
			return fmt.Errorf("make apt's private folders: %w", err)
		}
	}
	conf := filepath.Join(private, "apt.conf")
	if err := writeAptConf(conf, private, false); err != nil {
		return err
	}
	install := append([]string{"-c", conf, "-qq", "-y", "--download-only", "install"}, packages...)
	// The machine's own package index will do, if it has one that is not too old.
	if first := run(ctx, "apt-get", install...); first != nil {
		if err := writeAptConf(conf, private, true); err != nil {
			return err
		}
		if err := run(ctx, "apt-get", "-c", conf, "-qq", "update"); err != nil {
			return errors.Join(first, err)
		}
		if err := run(ctx, "apt-get", install...); err != nil {
			return err
		}
	}
	debs, err := filepath.Glob(filepath.Join(private, "archives", "*.deb"))
	if err != nil {
		return fmt.Errorf("list the downloaded packages: %w", err)
	}
	staging := dir + ".new"
	if err := os.RemoveAll(staging); err != nil {
		return fmt.Errorf("remove what an interrupted fetch left: %w", err)
	}
	for _, deb := range debs {
		if err := run(ctx, "dpkg-deb", "--extract", deb, staging); err != nil {
			return err
		}
	}
	if err := os.Rename(staging, dir); err != nil {
		return fmt.Errorf("put the packages in their place: %w", err)
	}
	return os.RemoveAll(private)
}

// writeAptConf makes private the place of all that apt-get writes; with ownLists, of the package
// index too. The status file is empty: nothing counts as installed, so everything is downloaded.
// Hooks of the machine are taken out, as one of Docker's empties the machine's package cache.
func writeAptConf(path, private string, ownLists bool) error {
	var text bytes.Buffer
	for _, hook := range []string{"Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"} {
		fmt.Fprintf(&text, "#clear APT::Update::%s;\n#clear DPkg::%s;\n", hook, hook)
	}
	settings := [][2]string{
		{"Dir::State::status", filepath.Join(private, "status")},
		{"Dir::State::extended_states", filepath.Join(private, "extended_states")},
		{"Dir::Cache", private}, {"Dir::Cache::archives", filepath.Join(private, "archives")},
		{"Dir::Log", private},
		{"APT::Install-Recommends", "false"}, {"APT::Keep-Downloaded-Packages", "true"},
		{"APT::Sandbox::User", "root"}, // apt's own user can't enter a home folder
		{"Acquire::Languages", "none"}, {"Acquire::Retries", "3"},
	}
	if ownLists {
		settings = append(settings, [2]string{"Dir::State::lists", filepath.Join(private, "lists")})
	}
	for _, s := range settings {
		fmt.Fprintf(&text, "%s \"%s\";\n", s[0], s[1])
	}
	if err := os.WriteFile(filepath.Join(private, "status"), nil, 0o644); err != nil {
		return fmt.Errorf("write apt's private configuration: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write apt's private configuration: %w", err)
	}
	return nil
}

// run runs a program to its end. The error has the last that it printed.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(output.String()))
	}
	return nil
}

// tail returns the last lines of a program's output, as one.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}
