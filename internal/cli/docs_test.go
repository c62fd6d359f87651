package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/compat/ghost"
	"midstream/internal/compat/ptosc"
	"midstream/internal/fleet/sets"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

var update = flag.Bool("update", false, "write the generated pages of docs/ anew")

// TestDocs fails when a page of docs/ that is made of the code is not what the code
// would make now. go test ./internal/cli -run TestDocs -update writes them.
func TestDocs(t *testing.T) {
	for name, text := range map[string]string{
		"cli.md": cliPage(), "midstream.1": manPage(), "exit-codes.md": exitCodesPage(), "events.md": eventsPage(), "openapi.yaml": openAPIPage(t, socket.OpenAPI), "openapi-serve.yaml": openAPIPage(t, sets.OpenAPI),
		"metrics.md":      metricsPage(),
		"hooks.md":        hooksPage(),
		"pt-osc-flags.md": generated + ptosc.Page(), "gh-ost-flags.md": generated + ghost.Page(),
	} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if string(there) != text {
			t.Errorf("docs/%s is out of date: go test ./internal/cli -run TestDocs -update", name)
		}
	}
}

// openAPIPage is the document of an API.
func openAPIPage(t *testing.T, of func() ([]byte, error)) string {
	document, err := of()
	if err != nil {
		t.Fatal(err)
	}
	return "# Made by: go test ./internal/cli -run TestDocs -update\n" + string(document)
}

const generated = "<!-- Made by: go test ./internal/cli -run TestDocs -update -->\n\n"

func exitCodesPage() string {
	var b strings.Builder
	b.WriteString(
		generated + "# Exit codes\n\nExit codes are a contract: none changes its meaning, and an unlisted code is a failure.\n" +
			"`midstream help exit-codes` prints the same.\nWith `--json` the last line has the code and its name.\n" +
			exit.OfSeveral + "\n\n" +
			"| code | name | meaning | what to do, unless the message knows better | a scheduler (Kubernetes, Nomad, CI) |\n|---|---|---|---|---|\n",
	)
	for _, o := range exit.Outcomes {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", o.Code, o.Name, o.Meaning, o.Next, o.Retry)
	}
	return b.String()
}

// recordTypes are the records by the name of their event.
func recordTypes() map[string]any {
	return map[string]any{
		record.NameRun:         &record.Run{},
		record.NamePlan:        &record.Plan{},
		record.NamePhase:       &record.Phase{},
		record.NameNote:        &record.Note{},
		record.NameProgress:    &record.Progress{},
		record.NameBlocked:     &record.Blocked{},
		record.NameKilled:      &record.Killed{},
		record.NameThrottled:   &record.Throttled{},
		record.NameControlled:  &record.Controlled{},
		record.NameLockAttempt: &record.LockAttempt{},
		record.NamePrepared:    &record.Prepared{},
		record.NameSwapped:     &record.Swapped{},
		record.NameRetry:       &record.Retry{},
		record.NameMismatch:    &record.Mismatch{},
		record.NameVerified:    &record.Verified{},
		record.NameExplained:   &record.Explained{},
		record.NameSoak:        &record.Soak{},
		record.NameFinding:     &record.Finding{},
		record.NamePrescanned:  &record.Prescanned{},
		record.NameUnfitFound:  &record.UnfitFound{},
		record.NameParked:      &record.Parked{},
		record.NameResumed:     &record.Resumed{},
		record.NameDeadline:    &record.Deadline{},
		record.NameResult:      &record.Result{},
	}
}

func eventsPage() string {
	var b strings.Builder
	b.WriteString(
		generated + "# Events of --json\n\nWith `--json`, `run`, `check` and `plan` write one JSON object a line to standard output.\n" +
			"Each has the fields `event` and `at` (RFC 3339 with milliseconds, UTC).\nThe last line is the `result`, whatever happened.\n" +
			"There are two exceptions: a command line whose flags cannot be read, and a second Ctrl-C before anything was written.\n" +
			"Names of events and fields are stable: later versions may add others, and rename or drop none.\nUnits are in the names.\n\n" +
			"Order: `plan`, then `phase` by phase the others, then `result`; a `note` may come at any time.\n" +
			"`progress` comes about twice a second; if several could not be written in time, only the newest is.\n" +
			"While a run is held, it writes one each minute, and one when the number of unfit rows has changed.\n" +
			"With `--to` this repeats for each table, with one `result` at the end.\n" +
			"A history (`--history-dir`) begins with `run`, and has one `result` for each table.\n",
	)
	types := recordTypes()
	for _, name := range []string{record.NameRun, record.NamePlan, record.NamePhase, record.NameNote,
		record.NameResumed, record.NameProgress, record.NameDeadline, record.NameFinding, record.NamePrescanned,
		record.NameUnfitFound, record.NameParked, record.NameBlocked,
		record.NameKilled, record.NameThrottled, record.NameControlled, record.NameLockAttempt, record.NamePrepared, record.NameSwapped,
		record.NameRetry, record.NameMismatch, record.NameVerified, record.NameExplained, record.NameSoak, record.NameResult} {
		fmt.Fprintf(&b, "\n## %s\n\n| field | type | meaning |\n|---|---|---|\n", name)
		describe(&b, "", reflect.TypeOf(types[name]).Elem())
	}
	return b.String()
}

// describe writes the rows of a record's fields; those of lists of records under the
// list's name.
func describe(b *strings.Builder, prefix string, record reflect.Type) {
	for i := range record.NumField() {
		field := record.Field(i)
		if field.Anonymous {
			continue
		}
		name := prefix + field.Tag.Get("json")
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeName(field.Type), field.Tag.Get("doc"))
		if field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct {
			describe(b, name+"[].", field.Type.Elem())
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			describe(b, name+".", inner)
		}
	}
}

func typeName(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem()) + " or null"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list of objects"
		}
		return "list of " + typeName(t.Elem())
	case reflect.Struct, reflect.Interface:
		return "object"
	case reflect.String, reflect.Bool:
		return t.Kind().String()
	}
	return "number"
}

// TestEveryOutcomeIsListed keeps the list of the result's exit.Outcomes complete.
func TestEveryOutcomeIsListed(t *testing.T) {
	field, _ := reflect.TypeFor[record.Result]().FieldByName("Outcome")
	for _, o := range exit.Outcomes {
		if !strings.Contains(field.Tag.Get("doc"), o.Name) {
			t.Errorf("docs/events.md does not list the outcome %s", o.Name)
		}
	}
}

// TestEveryFieldIsExplained keeps the tags complete.
func TestEveryFieldIsExplained(t *testing.T) {
	for name, record := range recordTypes() {
		kind := reflect.TypeOf(record).Elem()
		for i := range kind.NumField() {
			f := kind.Field(i)
			if !f.Anonymous && (f.Tag.Get("json") == "" || f.Tag.Get("doc") == "") {
				t.Errorf("%s: field %s has no name or no explanation", name, f.Name)
			}
		}
	}
}
