package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// license is the SPDX identifier of the file LICENSE.
const license = "Apache-2.0"

// built is what this program was built of. A release says its version and commit by the linker;
// else the build says what it knows.
type built struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // "" where the build has not noted it
	Go       string `json:"go"`
	Platform string `json:"platform"`
	License  string `json:"license"` // its SPDX identifier
}

func (a *app) built() built {
	b := built{Version: a.Version, Commit: a.Commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, License: license}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version // of go install
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = cmp.Or(b.Commit, s.Value)
		}
	}
	b.Version = cmp.Or(b.Version, "dev")
	return b
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version, the commit, the Go version and the license", Args: cobra.NoArgs}
	json := false
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON object: version, commit, go, platform, license")
	cmd.RunE = a.Verb(func(context.Context, []string) error {
		b := a.built()
		if json {
			a.Record(b)
			return nil
		}
		fmt.Fprintf(
			a.Stdout, "midstream %s\ncommit    %s\nbuilt by  %s for %s\nlicense   %s\n", b.Version,
			cmp.Or(b.Commit, "unknown"), b.Go, b.Platform, b.License,
		)
		return nil
	})
	return cmd
}
