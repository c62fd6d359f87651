package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// place is a folder of internal. Its packages are listed from the top down: a package imports only
// from layers below its own, and never a package of its own layer.
type place struct {
	name, what string
	layers     [][]string
}

// house lists the places from the top down. A package imports only packages that come after its own.
var house = []place{
	{"cli", "verbs, flags, help, exit codes, and what is printed", [][]string{{""}, {"client", "fleet", "kept"}, {"process"}, {"exit", "flags", "help"}}},
	{"face", "what people look at", [][]string{{"web"}, {"report", "summary", "tui"}, {"humanize"}, {"assets"}}},
	{"compat", "the command lines of other tools", [][]string{{"foreign"}, {"ghost", "ptosc"}, {"speech"}}},
	{"fleet", "one change on many servers", [][]string{{"sets"}, {"driver", "members"}, {"changeset", "fleetplan"}, {"inventory", "rollout"}, {"selector"}}},
	{"ops", "a run seen from outside", [][]string{{"queue", "session"}, {"undos"}, {"followers", "groups"}, {"socket"}, {"hook", "metrics", "readers", "retention"}, {"history"}, {"password", "record"}, {"access", "audit", "reach"}}},
	{"lab", "servers and loads for demos and tests", [][]string{{"demo"}, {"ledger", "sandbox"}}},
	{"engine", "the migration, its stages, and what they share", [][]string{
		{"planning"}, {"rowchange", "wholetables"}, {"migration"}, {"failure", "soak"}, {"brakes", "dump", "follow", "intake", "leftovers", "specs", "together"}, {"operator"},
		// The stages: only migration and wholetables join them.
		{"apply", "barrier", "capture", "compare", "cutover", "desired", "explain", "native", "parents", "park", "prescan", "rowcopy", "shadow", "tableddl", "trigger", "verify"},
		{"checkpoint", "deadline", "facts", "lock", "onreplica", "rowsync", "throttle"},
		{"plan"},
		{"backlog", "forecast"},
		{"frontier"},
		{"carry", "closure", "event", "key", "pulse", "units", "window"},
	}},
	{"mysql", "the server, with each library behind one package", [][]string{
		{"binlog", "dbconn", "ddl"}, {"schema"}, {"escape", "schema/token"},
	}},
}

// testOnly packages may import every package, and only tests import them.
var testOnly = []string{
	"lab/cases", "lab/differ", "lab/fault", "lab/fleetlab", "lab/fleetsim", "lab/knobs", "lab/layout", "lab/mysqltest", "lab/oracle", "lab/sim", "lab/soak",
}

// owners are the only importers of a library.
var owners = map[string][]string{
	"github.com/go-sql-driver/mysql":   {"mysql/dbconn"},
	"github.com/go-mysql-org/go-mysql": {"mysql/binlog"},
	"github.com/pingcap/tidb":          {"mysql/ddl"},
	"github.com/spf13/cobra":           {"cli", "cli/client", "cli/fleet", "cli/help", "cli/kept", "cli/process"},
	"github.com/danielgtaylor/huma":    {"ops/socket", "ops/queue", "fleet/sets"},
	"github.com/prometheus":            {"ops/metrics"},
	"go.etcd.io/bbolt":                 {"ops/queue"},
	"go.yaml.in/yaml/v4":               {"fleet/changeset"},
	"github.com/tidwall/btree":         {"engine/backlog"},
}

// alarms are files and functions that may be longer than the bound, each with its reason.
var alarms = map[string]string{
	"mysql/dbconn/variables.go ours":                   "a list",
	"lab/differ/alter.go wider":                        "a list",
	"compat/ptosc/options.go work":                     "a list",
	"ops/queue/api.go registerChanges":                 "a list",
	"ops/queue/store.go Store":                         "what a file and a table both do, for one daemon",
	"mysql/binlog/fuzz_test.go FuzzImage":              "its seeds are a list",
	"mysql/binlog/types_test.go TestUpdatesOfAllTypes": "one story over a list of types",
}

const (
	longestFile     = 600
	longestFunction = 100
	widestInterface = 5
	mostMethods     = 40
)

func TestLayout(t *testing.T) {
	fset := token.NewFileSet()
	floors := layers(house)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		if pkg := filepath.ToSlash(filepath.Dir(name)); !strings.HasSuffix(path, "_test.go") && !slices.Contains(testOnly, pkg) {
			checkImports(t, floors, pkg, name, file)
			checkTexts(t, name, fset, file)
		}
		checkLengths(t, name, fset, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// layers numbers the layer of each package, from the top down.
func layers(places []place) map[string]int {
	floors := map[string]int{}
	floor := 0
	for _, p := range places {
		for _, packages := range p.layers {
			floor++
			for _, name := range packages {
				floors[strings.TrimSuffix(p.name+"/"+name, "/")] = floor
			}
		}
	}
	return floors
}

func checkImports(t *testing.T, floors map[string]int, pkg, name string, file *ast.File) {
	if floors[pkg] == 0 {
		t.Errorf("package %s has no layer: give it one in internal/lab/layout", pkg)
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
		if slices.Contains(testOnly, imported) {
			t.Errorf("%s imports %s, which is for tests only", name, imported)
		}
		if floors[pkg] >= floors[imported] {
			t.Errorf("%s imports %s, which is not below %s", name, imported, pkg)
		}
	}
}

// ourTerms are references to the design that only its readers understand.
var ourTerms = regexp.MustCompile(`\b(laws? L|decision )\d`)

// checkTexts keeps such references in comments: texts may be shown to users.
func checkTexts(t *testing.T, name string, fset *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING {
			if value, err := strconv.Unquote(text.Value); err != nil || flagless.MatchString(value) {
				t.Errorf("%s, line %d: write two blanks behind the verb of a command that has a place (ops/reach): %q", name,
					fset.Position(n.Pos()).Line, flagless.FindString(value))
			}
		}
		if text, is := n.(*ast.BasicLit); is && ourTerms.MatchString(text.Value) {
			t.Errorf("%s, line %d: a text names %q", name, fset.Position(n.Pos()).Line, ourTerms.FindString(text.Value))
		}
		return true
	})
}

// flagless is a command that reaches a server, a run or midstream serve, without the place for its flags. In the examples of
// help, commands begin a line.
var flagless = regexp.MustCompile("(?:^|[^\\n ] ?)midstream (?:run|plan|check|verify|blockers|cleanup|undo|watch|pause|resume|throttle|set|hold|" +
	"cutover|abort|status|submit|queue|withdraw|release|approve|reject|freeze|unfreeze|audit|fleet (?:submit|status|approve|reject|release|again|skip|cancel|undo)) (?:--[^ ]+ )*(?:%|['\"`]|TABLE\\b|--list\\b|$)|midstream submit --undo=")

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

// sizes are the most lines of code that a package may have, tests left out.
var sizes = map[string]int{"engine/migration": 4000}

// wide are types that may have more methods than the bound, each with its reason.
var wide = map[string]string{
	"cli app":             "a method or two for each verb",
	"engine/plan checker": "a method for each check, all over the same facts",
	"ops/queue Service":   "to be split: its API, its store and its children are one type",
	"lab/ledger Tx":       "a method for each kind of change that writers make",
	"lab/ledger Ledger":   "to be split: the table, its writers and the comparison are one type",
	"lab/sim client":      "a model of a whole run, with a method for each step and law",
	"lab/differ gen":      "a method for each kind of clause and value that it makes",
}

// TestSizes: the coordinator stays small, and so does each type.
func TestSizes(t *testing.T) {
	fset, lines, methods := token.NewFileSet(), map[string]int{}, map[string]int{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../../")))
		lines[pkg] += fset.File(file.Pos()).LineCount()
		for _, decl := range file.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Recv != nil {
				methods[pkg+" "+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, most := range sizes {
		if lines[pkg] == 0 || lines[pkg] > most {
			t.Errorf("%s has %d lines, more than %d", pkg, lines[pkg], most)
		}
	}
	for name := range wide {
		if methods[name] <= mostMethods {
			t.Errorf("type %s has %d methods: it needs no excuse", name, methods[name])
		}
	}
	for name, n := range methods {
		if _, excused := wide[name]; n > mostMethods && !excused {
			t.Errorf("type %s has %d methods, more than %d: split it, or give the reason in wide", name, n, mostMethods)
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
