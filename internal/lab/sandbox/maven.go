package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetchJar downloads the artifact with mvn into dir and returns its path. mvn gets a local
// repository of its own there, so that a damaged file can be thrown away without touching the
// user's.
func fetchJar(ctx context.Context, dir string, j jar, progress func(string)) (string, error) {
	part := strings.Split(j.artifact, ":")
	file := filepath.Join(dir, "jars", part[1]+"-"+part[2]+".jar")
	for try := 1; ; try++ {
		if sum, err := fileSHA256(file); err == nil && sum == j.sha256 {
			return file, nil
		}
		if try > 2 {
			return "", fmt.Errorf("download %s: its SHA-256 is not %s", j.artifact, j.sha256)
		}
		if _, err := exec.LookPath("mvn"); err != nil {
			return "", fmt.Errorf("%w: mvn is needed to fetch %s (apt-get install maven)", ErrUnavailable, j.artifact)
		}
		if err := discardJar(dir, j); err != nil {
			return "", err
		}
		progress("fetching " + j.artifact)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", fmt.Errorf("make Maven's private folder: %w", err)
		}
		_, err := runTool(ctx, "mvn", "-B", "-q", "-Dmaven.repo.local="+filepath.Join(dir, "repository"),
			"dependency:copy", "-Dartifact="+j.artifact, "-DoutputDirectory="+filepath.Dir(file))
		if err != nil {
			return "", err
		}
	}
}

// discardJar removes the artifact, as downloaded and as copied; mvn's own plugins stay for the next.
func discardJar(dir string, j jar) error {
	part := strings.Split(j.artifact, ":")
	group := filepath.Join(append([]string{dir, "repository"}, strings.Split(part[0], ".")...)...)
	return errors.Join(
		os.RemoveAll(filepath.Join(group, part[1])),
		os.RemoveAll(filepath.Join(dir, "jars")))
}
