package rollout_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheCoreIsPure: it imports nothing that has a clock, chance or the world in it, and does not ask for the time.
func TestTheCoreIsPure(t *testing.T) {
	allowed := []string{
		"cmp", "crypto/sha256", "errors", "fmt", "slices", "strings", "time",
		"midstream/internal/engine/window", "midstream/internal/fleet/selector",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		for _, word := range []string{"time.Now(", "time.Since(", "time.Until(", "time.After(", "time.Sleep(", "go func"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
}
