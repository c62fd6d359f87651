// Command midstream changes the schema of a live MySQL table.
package main

import (
	"context"
	"os"

	"midstream/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, interrupts := cli.WatchInterrupts(context.Background(), os.Exit)
	home, _ := os.UserHomeDir()      // none: no ~/.my.cnf
	executable, _ := os.Executable() // none: demo says so
	os.Exit(cli.Main(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Home: home, Executable: executable, Version: version, Interrupts: interrupts, Wipe: cli.Wipe,
	}))
}
