package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages from the top down: a package imports only from layers below
// its own, never its neighbours.
var layers = [][]string{
	{"cli"},
	{"web"},
	{"demo", "service", "ptosc", "ghost"},
	{"control"},
	{"report", "screen", "metrics", "hook"},
	{"history"},
	{"record", "dropin", "words"},
	{"planning"},
	{"migration"},
	// stages
	{"cutover", "native", "rowcopy", "apply", "capture", "trigger", "shadow", "prescan", "tables", "verify", "compare", "desired"},
	{"lock", "rowsync", "checkpoint", "plan", "throttle"},
	{"backlog"},
	{"frontier"},
	{"key", "ddl", "dbconn", "binlog", "ledger", "sandbox", "event", "foreign", "usertrigger"},
	{"schema"},
	{"schema/token", "plots", "escape"},
}

// owners are the only importers of a library.
var owners = map[string][]string{
	"github.com/go-sql-driver/mysql":   {"dbconn"},
	"github.com/go-mysql-org/go-mysql": {"binlog"},
	"github.com/pingcap/tidb":          {"ddl"},
	"github.com/spf13/cobra":           {"cli"},
	"github.com/danielgtaylor/huma":    {"control", "service"},
	"github.com/prometheus":            {"metrics"},
	"go.etcd.io/bbolt":                 {"service"},
	"github.com/tidwall/btree":         {"backlog"},
}

// alarms are files and functions that may be longer than the bound, each with its reason.
var alarms = map[string]string{
	"dbconn/variables.go ours":                   "a list",
	"differ/alter.go wider":                      "a list",
	"ptosc/options.go work":                      "a list",
	"service/api.go registerChanges":             "a list",
	"binlog/fuzz_test.go FuzzImage":              "its seeds are a list",
	"binlog/types_test.go TestUpdatesOfAllTypes": "one story over a list of types",
}

const (
	longestFile     = 600
	longestFunction = 100
	widestInterface = 5
)

func TestLayout(t *testing.T) {
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if !strings.HasSuffix(path, "_test.go") {
			checkImports(t, name, file)
			checkTexts(t, name, fset, file)
		}
		checkLengths(t, name, fset, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, name string, file *ast.File) {
	pkg := filepath.ToSlash(filepath.Dir(name))
	if testOnly(pkg) {
		return
	}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		for library, importers := range owners {
			if strings.HasPrefix(path, library) && !slices.Contains(importers, pkg) {
				t.Errorf("%s imports %s: only %v may", name, path, importers)
			}
		}
		imported, ours := strings.CutPrefix(path, "midstream/internal/")
		if !ours {
			continue
		}
		if testOnly(imported) {
			t.Errorf("%s imports %s, which is for tests only", name, imported)
		}
		if layer(t, pkg) >= layer(t, imported) {
			t.Errorf("%s imports %s, which is not below %s", name, imported, pkg)
		}
	}
}

// testOnly packages may import what they like, and only tests import them.
func testOnly(pkg string) bool {
	return slices.Contains([]string{"mysqltest", "fault", "sim", "layout", "soak", "oracle", "cases", "differ"}, pkg)
}

func layer(t *testing.T, pkg string) int {
	for i, packages := range layers {
		if slices.Contains(packages, pkg) {
			return i
		}
	}
	t.Errorf("package %s has no layer: give it one in %s", pkg, "internal/layout")
	return -1
}

// ourTerms are references to the design that only its readers understand.
var ourTerms = regexp.MustCompile(`\b(laws? L|decision )\d`)

// checkTexts keeps such references in comments: texts may be shown to users.
func checkTexts(t *testing.T, name string, fset *token.FileSet, file *ast.File) {
	if testOnly(filepath.ToSlash(filepath.Dir(name))) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, is := n.(*ast.BasicLit); is && ourTerms.MatchString(text.Value) {
			t.Errorf("%s, line %d: a text names %q", name, fset.Position(n.Pos()).Line, ourTerms.FindString(text.Value))
		}
		return true
	})
}

func checkLengths(t *testing.T, name string, fset *token.FileSet, file *ast.File) {
	lines := func(n ast.Node) int { return fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1 }
	alarm := func(what string, n, most int) {
		if _, excused := alarms[name+" "+what]; n > most && !excused {
			t.Errorf("%s: %s is %d long, more than %d: split it, or give the reason in alarms", name, what, n, most)
		}
	}
	alarm("file", fset.File(file.Pos()).LineCount(), longestFile)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			alarm(n.Name.Name, lines(n), longestFunction)
		case *ast.TypeSpec:
			if i, is := n.Type.(*ast.InterfaceType); is {
				alarm(n.Name.Name, i.Methods.NumFields(), widestInterface)
			}
		}
		return true
	})
}
