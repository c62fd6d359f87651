package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`(Test[A-Za-z0-9_]*)(?:/([^`]*))?`")
	saying    = regexp.MustCompile(`"([^"|]+)"`)
)

// TestChecklist: every test that docs/checklist.md names exists, with its case, and so do the
// words of every refusal.
func TestChecklist(t *testing.T) {
	page, err := os.ReadFile("../../docs/checklist.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, programs := sources(t)
	named := namedTest.FindAllStringSubmatch(string(page), -1)
	if len(named) < 100 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, n := range named {
		if !strings.Contains(tests, "func "+n[1]+"(t *testing.T)") {
			t.Errorf("there is no %s", n[1])
		}
		if n[2] != "" && !strings.Contains(tests, `"`+n[2]+`"`) {
			t.Errorf("%s has no case %q", n[1], n[2])
		}
	}
	for _, s := range saying.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(programs, s[1]) {
			t.Errorf("nothing says %q", s[1])
		}
	}
	for i, line := range strings.Split(string(page), "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| line ") && !namedTest.MatchString(line) && !saying.MatchString(line) {
			t.Errorf("line %d is not answered: %s", i+1, line)
		}
	}
}

// sources are all tests, and all else, in one text each.
func sources(t *testing.T) (tests, programs string) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
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
