package ddl

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the code answers into the golden files")

// golden runs every case of a file: a text, a line of dashes, the answer, a line of
// equal signs.
func golden(t *testing.T, path string, answer func(text string) string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, c := range strings.Split(strings.TrimSuffix(string(content), "\n====\n"), "\n====\n") {
		text, want, _ := strings.Cut(c, "\n----\n")
		got := strings.TrimRight(answer(text), "\n")
		if !*rewrite && got != strings.TrimRight(want, "\n") {
			t.Errorf("case %d:\n%s\ngot:\n%s\nwant:\n%s", i+1, text, got, want)
		}
		fmt.Fprintf(&out, "%s\n----\n%s\n====\n", text, got)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// show writes all set fields of an Alter, each on a line.
func show(a *Alter) string {
	var b strings.Builder
	v := reflect.ValueOf(*a)
	for i := range v.NumField() {
		switch name, f := v.Type().Field(i).Name, v.Field(i); {
		case f.IsZero():
		case name == "Named":
			fmt.Fprintf(&b, "%s: %s\n", name, set(f))
		case name == "Defined":
			for _, c := range a.Defined {
				fmt.Fprintf(&b, "%s: %s\n", name, set(reflect.ValueOf(c)))
			}
		default:
			fmt.Fprintf(&b, "%s: %+v\n", name, f.Interface())
		}
	}
	return b.String()
}

// set writes the set fields of a struct.
func set(v reflect.Value) string {
	var fields []string
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fields = append(fields, fmt.Sprintf("%s:%+v", v.Type().Field(i).Name, f.Interface()))
		}
	}
	return strings.Join(fields, " ")
}

func TestParse(t *testing.T) {
	for _, file := range []string{"columns", "keys", "clauses", "text", "unparsed", "refused", "more"} {
		t.Run(file, func(t *testing.T) {
			golden(t, "testdata/"+file+".txt", func(text string) string {
				a, err := Parse(text)
				if err != nil {
					if !errors.Is(err, ErrNotAlter) {
						t.Errorf("%s: not an ErrNotAlter: %v", text, err)
					}
					return "error: " + err.Error()
				}
				if !strings.Contains(text, a.Clauses) {
					t.Errorf("%s: clauses are not verbatim: %q", text, a.Clauses)
				}
				return show(a)
			})
		})
	}
}
