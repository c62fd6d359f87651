package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"midstream/internal/lab/sandbox"
)

// stopping is the longest time for a server to stop.
const stopping = time.Minute

// server is a server, and the client program to speak to it with.
type server struct {
	*sandbox.Server
	clients *sandbox.Build
}

// start starts a server with its event scheduler running.
func start(ctx context.Context, version sandbox.Version, id string) (*server, error) {
	say := func(text string) { fmt.Println(text) }
	clients, err := sandbox.Fetch(ctx, sandbox.MySQL97, say) // other servers have no client
	if err != nil {
		return nil, err
	}
	build, err := sandbox.Fetch(ctx, version, say)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"server_id": id, "event_scheduler": "ON", "report_host": "127.0.0.1"}
	if version != sandbox.MySQL97 { // it is on, under another name
		settings["log_slave_updates"] = "ON"
	}
	if !build.IsMariaDB() {
		settings["gtid_mode"], settings["enforce_gtid_consistency"] = "ON", "ON"
	}
	running, err := build.Start(ctx, sandbox.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	return &server{Server: running, clients: clients}, nil
}

// client returns the command of the mysql client on a database.
func (s *server) client(ctx context.Context, args ...string) *exec.Cmd {
	return s.clients.Client(ctx, "mysql", append(append(s.ClientArgs(), "--commands"), args...)...)
}

// run runs statements as a script, and returns what was selected.
func (s *server) run(ctx context.Context, database, script string, args ...string) (string, error) {
	cmd := s.client(ctx, append(args, "-s", "-s", "--database="+database)...)
	cmd.Stdin = strings.NewReader(script)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// version is the server's own version.
func (s *server) version(ctx context.Context) (string, error) {
	out, err := s.run(ctx, "", "SELECT @@version")
	return strings.TrimSpace(out), err
}

func (s *server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancel()
	return s.Stop(ctx)
}

// follow makes the server a replica of source, from the beginning of its binlog.
func (s *server) follow(ctx context.Context, source *server) error {
	statement := "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d, MASTER_USER = '%s', MASTER_AUTO_POSITION = 1"
	if s.Build.Version == sandbox.MySQL97 {
		statement = "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, SOURCE_USER = '%s', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
	}
	if _, err := s.run(ctx, "", fmt.Sprintf(statement, source.Port, source.User)); err != nil {
		return err
	}
	return s.replicate(ctx)
}

// replicate starts a replica's replication.
func (s *server) replicate(ctx context.Context) error {
	word := "SLAVE"
	if s.Build.Version == sandbox.MySQL97 {
		word = "REPLICA"
	}
	_, err := s.run(ctx, "", "START "+word)
	return err
}

// wrap writes a program that runs the client on the server.
func (s *server) wrap(ctx context.Context, path string) error {
	cmd := s.client(ctx)
	var script strings.Builder
	script.WriteString("#!/bin/sh\nexec env")
	for _, word := range append(append([]string{}, cmd.Env...), append([]string{cmd.Path}, cmd.Args[1:]...)...) {
		script.WriteString(" '" + strings.ReplaceAll(word, "'", `'\''`) + "'")
	}
	script.WriteString(" \"$@\"\n")
	return os.WriteFile(path, []byte(script.String()), 0o755)
}

// link makes a link to our program under another name.
func link(program, dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.Symlink(program, path); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return path, nil
}
