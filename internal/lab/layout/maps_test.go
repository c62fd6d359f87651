package layout_test

import (
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the package maps of AGENTS.md and docs/design.md")

// TestMaps: the package maps of AGENTS.md and docs/design.md are the ones that TestLayout enforces.
func TestMaps(t *testing.T) {
	for page, text := range map[string]string{"AGENTS.md": chain(), "docs/design.md": table(t)} {
		path := "../../../" + page
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		between := regexp.MustCompile(`(?s)(<!-- packages: [^\n]*-->\n).*?(<!-- end of packages -->)`)
		if !between.Match(old) {
			t.Errorf("%s has no place for the packages", page)
			continue
		}
		fresh := between.ReplaceAllString(string(old), "${1}"+strings.ReplaceAll(text, "$", "$$")+"${2}")
		if fresh == string(old) {
			continue
		}
		if !*update {
			t.Errorf("%s is out of date: go test ./internal/lab/layout -run TestMaps -update", page)
		} else if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// chain lists each place on a line, with its layers from the top down.
func chain() string {
	var b strings.Builder
	for _, p := range house {
		var names []string
		for _, packages := range p.layers {
			names = append(names, strings.Join(packages, " "))
		}
		fmt.Fprintf(&b, "- `%s/` (%s): %s\n", p.name, p.what, strings.Join(names, " > "))
	}
	b.WriteString("- only for tests: " + strings.Join(testOnly, " ") + "\n")
	return strings.ReplaceAll(b.String(), "): \n", ")\n")
}

// table lists each package with the first sentence of its documentation.
func table(t *testing.T) string {
	var b strings.Builder
	for _, p := range house {
		fmt.Fprintf(&b, "\n**`internal/%s/`**: %s\n\n| package | what it does |\n|---|---|\n", p.name, p.what)
		var packages []string
		for _, layer := range p.layers {
			packages = append(packages, layer...)
		}
		for _, name := range packages {
			row(t, &b, strings.TrimSuffix(p.name+"/"+name, "/"))
		}
		for _, name := range testOnly {
			if strings.HasPrefix(name, p.name+"/") {
				row(t, &b, name)
			}
		}
	}
	return b.String() + "\n"
}

func row(t *testing.T, b *strings.Builder, path string) {
	name := filepath.Base(path)
	sentence, is := strings.CutPrefix(synopsis(t, path), "Package "+name+" ")
	if !is {
		t.Errorf("the documentation of %s doesn't begin with %q and a verb", path, "Package "+name)
	}
	fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(sentence, "|", `\|`))
}

// synopsis returns the first sentence of a package's documentation.
func synopsis(t *testing.T, path string) string {
	files, err := filepath.Glob("../../" + path + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if file.Doc != nil && !strings.HasSuffix(name, "_test.go") {
			return new(doc.Package).Synopsis(file.Doc.Text())
		}
	}
	return ""
}
