package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`(Test[A-Za-z0-9_]*)(?:/([^`]*))?`")
	saying    = regexp.MustCompile(`"([^"|]+)"`)
	// commands may have words in quotes that nobody says.
	commands = regexp.MustCompile("(?s)```.*?```|`midstream [^`]*`|`run [^`]*`")

	codeNamed  = regexp.MustCompile(`(Code[A-Za-z]+) +(?:Code )?= "([a-z-]+)"`)
	refusedBy  = regexp.MustCompile(`(?:block\(\s*|Risk\{\s*Code:\s+)(Code[A-Za-z]+)[^\n]*(?:\n[^\n]*)?`)
	rowOfCodes = regexp.MustCompile(`(?m)^\| (` + "`[^|]*" + `) \|`)
	codeInRow  = regexp.MustCompile("`([a-z-]+)`")
)

// TestChecklist: every test that docs/checklist.md names exists, with its case, and so do the
// words of every refusal.
func TestChecklist(t *testing.T) {
	tests, programs := sources(t)
	page := proved(t, "checklist.md", tests, programs)
	if named := namedTest.FindAllString(page, -1); len(named) < 100 {
		t.Errorf("only %d tests are named", len(named))
	}
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| line ") && !namedTest.MatchString(line) &&
			!saying.MatchString(line) {
			t.Errorf("line %d is not answered: %s", i+1, line)
		}
	}
}

// TestPagesAreProved: so do those that other pages name.
func TestPagesAreProved(t *testing.T) {
	tests, programs := sources(t)
	for _, name := range []string{"cut-over.md", "what-can-go-wrong.md", "refuses.md", "recover.md", "upgrades.md", "sizing.md"} {
		proved(t, name, tests, programs)
	}
}

// proved returns a page, of which it has looked that the tests and words that it names exist.
func proved(t *testing.T, name, tests, programs string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, n := range namedTest.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(tests, "func "+n[1]+"(t *testing.T)") {
			t.Errorf("%s: there is no %s", name, n[1])
		}
		if n[2] != "" && !strings.Contains(tests, `"`+n[2]+`"`) {
			t.Errorf("%s: %s has no case %q", name, n[1], n[2])
		}
	}
	for _, s := range saying.FindAllStringSubmatch(commands.ReplaceAllString(page, ""), -1) {
		if !strings.Contains(programs, s[1]) {
			t.Errorf("%s: nothing says %q", name, s[1])
		}
	}
	return page
}

// TestRefusals: docs/refuses.md has every code by which the plan refuses, and no other.
func TestRefusals(t *testing.T) {
	page, err := os.ReadFile("../../../docs/refuses.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../engine/plan/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			all += string(text)
		}
	}
	names := map[string]string{}
	for _, m := range codeNamed.FindAllStringSubmatch(all, -1) {
		names[m[1]] = m[2]
	}
	refusing := map[string]bool{}
	for _, m := range refusedBy.FindAllStringSubmatch(all, -1) {
		refusing[names[m[1]]] = true
	}
	if len(refusing) < 35 {
		t.Errorf("only %d codes were found", len(refusing))
	}
	listed := map[string]bool{}
	for _, row := range rowOfCodes.FindAllStringSubmatch(string(page), -1) {
		for _, m := range codeInRow.FindAllStringSubmatch(row[1], -1) {
			listed[m[1]] = true
		}
	}
	for code := range refusing {
		if !listed[code] {
			t.Errorf("docs/refuses.md lacks %q", code)
		}
	}
	for code := range listed {
		if !refusing[code] {
			t.Errorf("nothing refuses by %q", code)
		}
	}
}

var (
	gateNamed = regexp.MustCompile(`(?:Sensor\{\s*Name:\s+|PausedGate = )"([a-z-]+)`)
	gateInRow = regexp.MustCompile("(?m)^\\| (`[a-z-]+`(?:, `[a-z-]+`)*) \\| ")
)

// TestGates: docs/sizing.md has every gate for which a run may wait, and no other.
func TestGates(t *testing.T) {
	page, err := os.ReadFile("../../../docs/sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, programs := sources(t)
	var gates, listed []string
	for _, m := range gateNamed.FindAllStringSubmatch(programs, -1) {
		gates = append(gates, m[1])
	}
	for _, row := range gateInRow.FindAllStringSubmatch(string(page), -1) {
		for _, m := range codeInRow.FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, m[1])
		}
	}
	slices.Sort(gates)
	slices.Sort(listed)
	if len(gates) < 10 || !slices.Equal(gates, listed) {
		t.Errorf("a run waits for %v; docs/sizing.md has %v", gates, listed)
	}
}

// sources are all tests, and all else, in one text each.
func sources(t *testing.T) (tests, programs string) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") {
			tests += string(text)
		} else {
			programs += string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, programs
}
