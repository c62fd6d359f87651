package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// module is a tool that is built from its Go module, in the exact version that we measure.
type module struct {
	name, path, version, command string
}

// modules are the tools that rivals builds. Each is built by its own go.mod and go.sum, so that it has
// the dependencies of its release, and ours stay out of it.
func modules() []module {
	return []module{
		{toolGhost, "github.com/github/gh-ost", "v1.1.8", "./go/cmd/gh-ost"},
		{toolSpirit, "github.com/block/spirit", "v0.11.2", "./cmd/spirit"},
	}
}

// findModule returns the tool from the cache, builds it, or takes it from PATH.
func findModule(ctx context.Context, cache string, m module, say func(string, ...any)) (program, error) {
	file := filepath.Join(cache, "programs", m.name+"-"+m.version)
	found := program{argv: []string{file}, version: m.version}
	if _, err := os.Stat(file); err == nil {
		return found, nil
	}
	say("building %s %s", m.name, m.version)
	err := m.build(ctx, file)
	if err == nil || ctx.Err() != nil {
		return found, err
	}
	path, missing := exec.LookPath(m.name)
	if missing != nil {
		say("cannot build %s: %v", m.name, err)
		return program{}, fmt.Errorf("cannot build %s@%s, and PATH has no %s", m.path, m.version, m.name)
	}
	say("taking %s, because %s@%s cannot be built: %v", path, m.path, m.version, err)
	return program{argv: []string{path}, version: "from PATH"}, nil
}

// build downloads the module and builds its command.
func (m module) build(ctx context.Context, file string) error {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	download.Dir = os.TempDir() // outside our modules
	download.Env = append(os.Environ(), "GOWORK=off")
	output, err := download.Output()
	var answer struct{ Dir, Error string }
	if parseErr := json.Unmarshal(output, &answer); err != nil || parseErr != nil {
		return fmt.Errorf("download the module: %w: %s", errors.Join(err, parseErr), tail(answer.Error))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder for programs: %w", err)
	}
	half := file + ".new"
	compile := exec.CommandContext(ctx, "go", "build", "-C", answer.Dir, "-mod=readonly", "-trimpath", "-o", half, m.command)
	compile.Env = append(os.Environ(), "GOWORK=off")
	if output, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the module: %w: %s", err, tail(string(output)))
	}
	return os.Rename(half, file)
}

// findRivals finds the tools that only rivals measures.
func (b *bench) findRivals(ctx context.Context, cache string) error {
	b.programs.built = make(map[string]*program)
	for _, m := range modules() {
		if !b.wantsRival(m.name) {
			continue
		}
		p, err := findModule(ctx, cache, m, b.say)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			text := m.name + " is left out: " + err.Error()
			b.programs.missing = append(b.programs.missing, text)
			b.say("%s", text)
		default:
			b.programs.built[m.name] = &p
		}
	}
	return nil
}
