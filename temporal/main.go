// Command midstream-fleet drives change sets over fleets beyond one machine, with Temporal as its engine.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	_ "time/tzdata" // windows are read alike on every machine

	"midstream/internal/cli/process"
	"midstream/temporal/verbs"
)

// version is set by the build.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := verbs.Main(ctx, env(), verbs.MembersOf)
	stop()
	os.Exit(code)
}

func env() process.Env {
	home, _ := os.UserHomeDir() // none: --token-file is needed
	return process.Env{
		Program: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Home: home, Version: version,
	}
}
