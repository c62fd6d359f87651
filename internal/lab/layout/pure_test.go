package layout_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asking are the imports by which a package reaches a server, or reads a file.
var asking = []string{
	"context", "database/sql", "net", "os",
	"midstream/internal/engine/facts", "midstream/internal/mysql/binlog",
}

// mostOfCLI is how many lines package cli may have. It may fall, and never grow.
const mostOfCLI = 5_000

// TestCommandLineIsSmall: package cli has verbs, flags, help and exit codes, and no more.
func TestCommandLineIsSmall(t *testing.T) {
	files, err := filepath.Glob("../../cli/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of cli: %v", len(files), err)
	}
	lines := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
	}
	if lines > mostOfCLI {
		t.Errorf("package cli has %d lines, more than %d: what is no verb, flag, help or exit code belongs elsewhere", lines, mostOfCLI)
	}
}

// TestPlanAsksNoServer: package plan decides by facts alone, so that the same facts make the same plan.
func TestPlanAsksNoServer(t *testing.T) {
	files, err := filepath.Glob("../../engine/plan/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of plan: %v", len(files), err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if imported := strings.Trim(spec.Path.Value, `"`); slices.Contains(asking, imported) {
				t.Errorf("%s imports %s: package plan is given facts, and asks for none", path, imported)
			}
		}
	}
}
