// Command midstream changes the schema of a live MySQL table.
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"

	"midstream/internal/cli"
	"midstream/internal/ops/password"
)

// version and commit are set by the build (make build, make release); else the program looks what Go has noted.
var version, commit string

func main() {
	// A backlog of a million keys lives long: by default as much garbage again would be let
	// stand beside it. The client has CPU to spare.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	ctx, interrupts := cli.WatchInterrupts(context.Background(), os.Exit)
	home, _ := os.UserHomeDir()      // none: no ~/.my.cnf
	executable, _ := os.Executable() // none: demo says so
	os.Exit(cli.Main(ctx, cli.Env{
		Program: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Home: home, Executable: executable, Version: version, Commit: commit, Interrupts: interrupts, Wipe: password.Wipe,
	}))
}
