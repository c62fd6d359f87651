package contrib

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const action = "../../contrib/github/"

// TestAction: action.yml fits SchemaStore's schema (Apache-2.0), and has no expression in a script.
func TestAction(t *testing.T) {
	schema, err := os.ReadFile("testdata/github-action.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("action.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("action.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(action + "action.yml")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(instance); err != nil {
		t.Fatal(err)
	}
	checkSteps(t, asJSON)
}

// checkSteps: an input reaches a script by its environment only, each input is used, and each script exists.
func checkSteps(t *testing.T, asJSON []byte) {
	t.Helper()
	var read struct {
		Inputs map[string]any
		Runs   struct {
			Steps []struct {
				Run, Shell, If string
				Env            map[string]string
			}
		}
	}
	if err := json.Unmarshal(asJSON, &read); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	input := regexp.MustCompile(`inputs\.([a-z0-9-]+)`)
	for _, step := range read.Runs.Steps {
		script, is := strings.CutPrefix(strings.Trim(step.Run, `"`), "$GITHUB_ACTION_PATH/")
		info, err := os.Stat(action + script)
		if !is || strings.Contains(step.Run, "${{") || err != nil || info.Mode()&0o111 == 0 || step.Shell != "bash" {
			t.Errorf("%q (%s): %v", step.Run, step.Shell, err)
			continue
		}
		text, err := os.ReadFile(action + script)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range step.Env {
			if !regexp.MustCompile(`\b`+name+`\b`).Match(text) && name != "GH_TOKEN" {
				t.Errorf("%s does not read %s", script, name)
			}
			for _, found := range input.FindAllStringSubmatch(value, -1) {
				used[found[1]] = true
				if read.Inputs[found[1]] == nil {
					t.Errorf("no input %s", found[1])
				}
			}
		}
		if out, err := exec.Command("bash", "-n", action+script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
	for name := range read.Inputs {
		if !used[name] {
			t.Errorf("no step reads the input %s", name)
		}
	}
}

// TestWorkflows: actionlint finds no fault in the workflows of the page, which call the action with inputs that it has.
func TestWorkflows(t *testing.T) {
	page, err := os.ReadFile(action + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(action + "action.yml")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, folder := range []string{".git", ".github/workflows", ".github/actions/midstream"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".github/actions/midstream/action.yml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d workflows", len(blocks))
	}
	for _, block := range blocks {
		file := filepath.Join(root, ".github/workflows/schema.yml")
		if err := os.WriteFile(file, block[1], 0o600); err != nil {
			t.Fatal(err)
		}
		project, err := actionlint.NewProject(root)
		if err != nil {
			t.Fatal(err)
		}
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		faults, err := linter.Lint(file, block[1], project)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			t.Errorf("%v\n%s", fault, block[1])
		}
	}
}
