package callers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
)

// account is the user of every caller. The space is there to see the quotes of shell lines.
const (
	account  = "app"
	password = "p4ss word"
)

// caller is a program that calls a schema change tool.
type caller struct {
	name string
	// install makes the program available. Defaults to nothing.
	install func(ctx context.Context, t *tools) error
	// prepare writes the files of the change. Defaults to nothing.
	prepare func(s *stage) error
	// change lists the commands that make the change. SIGTERM comes during the first.
	change func(s *stage) []command
	// again lists the commands after SIGTERM. Defaults to those of change.
	again func(s *stage) []command
	// passesOn marks a caller that hands SIGTERM to midstream. Others get it with all of their children, as from a CI system.
	passesOn bool
	// alone marks a caller that gets SIGTERM alone, and does not pass it on: midstream continues.
	alone bool
	// exits is how the caller ends after SIGTERM. Defaults to any way but success.
	exits string
	// keeps marks a caller whose work is kept at SIGTERM.
	keeps bool
	// finds are the texts that the caller looks for in the output of the change.
	finds []look
	// check asks the caller whether the change is done. Defaults to nothing.
	check func(s *stage) error
}

// suffix is that of the cases with SIGTERM.
const suffix = ", SIGTERM"

// Suite judges the callers on one server.
type Suite struct {
	tools   *tools
	contrib string // this project's folder
	dir     string // of the links, and of a folder for each case
	server  *sandbox.Server
	pool    *dbconn.Pool
	made    map[string]error // the callers that were installed
}

// Open starts a server. contrib is this project's folder, and dir an empty one.
func Open(ctx context.Context, version sandbox.Version, program, contrib, dir string) (*Suite, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = cmp.Or(os.Getenv("MIDSTREAM_CACHE"), filepath.Join(cache, "midstream"))
	s := &Suite{tools: &tools{dir: filepath.Join(cache, "callers")}, contrib: contrib, dir: dir, made: map[string]error{}}
	for _, name := range []string{"midstream", "pt-online-schema-change", "gh-ost"} {
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	build, err := sandbox.Fetch(ctx, version, func(text string) { fmt.Println(text) })
	if err != nil {
		return nil, err
	}
	if s.server, err = build.Start(ctx, sandbox.Options{InMemory: true}); err != nil {
		return nil, err
	}
	s.pool, err = dbconn.Open(ctx, dbconn.Config{Network: "tcp", Address: s.server.Address, User: s.server.User}, map[string]string{
		"sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
	})
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	for _, statement := range []string{
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", account, password),
		fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'%%' WITH GRANT OPTION", account),
	} {
		if _, err := s.pool.DB().ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	return s, nil
}

// Close stops the server.
func (s *Suite) Close(ctx context.Context) error {
	if s.pool != nil {
		s.pool.Close()
	}
	return s.server.Stop(context.WithoutCancel(ctx))
}

// Cases are the names of the cases: two for each caller.
func (s *Suite) Cases() []string {
	var names []string
	for _, c := range all() {
		names = append(names, c.name, c.name+suffix)
	}
	return names
}

// Judge runs a case. wrong is what went wrong, or nil; said is the output of its commands.
func (s *Suite) Judge(ctx context.Context, name string) (said string, wrong, err error) {
	short, signal := strings.CutSuffix(name, suffix)
	for _, c := range all() {
		if c.name != short {
			continue
		}
		if _, is := s.made[short]; !is && c.install != nil {
			s.made[short] = c.install(ctx, s.tools)
		}
		if err := s.made[short]; err != nil {
			return "", fmt.Errorf("not installed: %w", err), nil
		}
		stage, err := s.stage(ctx, strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "").Replace(name))
		if err != nil {
			return "", nil, err
		}
		wrong := stage.play(c, signal)
		return stage.said.String(), errors.Join(wrong, stage.end()), nil
	}
	return "", nil, fmt.Errorf("no case %q", name)
}
