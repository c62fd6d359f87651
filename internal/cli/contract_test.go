package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/operator"
	"midstream/internal/fleet/sets"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// TestDocsContract: what other programs may rely on is never taken away. docs/contract.txt lists
// it; -update adds to it what is new, and removes nothing.
func TestDocsContract(t *testing.T) {
	var have []string
	for _, o := range exit.Outcomes {
		have = append(have, fmt.Sprintf("exit %d %s", o.Code, o.Name))
	}
	for name, record := range recordTypes() {
		fieldsOf(&have, "event "+name+".", reflect.TypeOf(record).Elem())
	}
	for api, of := range map[string]func() ([]byte, error){"api ": socket.OpenAPI, "api of serve ": sets.OpenAPI} {
		document, err := of()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^  (/\S+):$`).FindAllStringSubmatch(string(document), -1) {
			have = append(have, api+m[1])
		}
	}
	for former, current := range operator.FormerNames() {
		have = append(have, "flag "+former+" is now "+current)
	}
	change := reflect.TypeFor[queue.Change]()
	for i := range change.NumField() {
		have = append(have, "change "+change.Field(i).Tag.Get("json"))
	}
	path := filepath.Join("..", "..", "docs", "contract.txt")
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var listed []string
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			listed = append(listed, line)
		}
	}
	for _, line := range listed {
		if !slices.Contains(have, line) {
			t.Errorf("programs may rely on %q, and it is gone: it must stay as it was", line)
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(have), func(line string) bool { return slices.Contains(listed, line) })
	if *update {
		listed = append(listed, fresh...)
		slices.Sort(listed)
		page := "# What other programs may rely on (docs/upgrades.md). Lines are added, never removed: go test ./internal/cli -run TestDocs -update\n" + strings.Join(
			listed, "\n",
		) + "\n"
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if len(fresh) > 0 {
		t.Errorf("docs/contract.txt lacks %q: go test ./internal/cli -run TestDocs -update", fresh)
	}
}

// fieldsOf lists the fields of a record, and of those within.
func fieldsOf(all *[]string, prefix string, record reflect.Type) {
	for i := range record.NumField() {
		field := record.Field(i)
		if field.Anonymous {
			continue
		}
		name := prefix + field.Tag.Get("json")
		*all = append(*all, name+" "+typeName(field.Type))
		switch kind := field.Type; {
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
			fieldsOf(all, name+"[].", kind.Elem())
		case kind.Kind() == reflect.Struct:
			fieldsOf(all, name+".", kind)
		}
	}
}
