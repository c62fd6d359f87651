package ddl

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

var orders = schema.Name{Schema: "shop", Table: "orders"}

// TestRefers reads lines of "effect default-schema statement".
func TestRefers(t *testing.T) {
	const path = "testdata/refers.txt"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(content)))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			continue
		}
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 {
			t.Fatalf("not three fields: %q", line)
		}
		got := Refers(strings.ReplaceAll(fields[2], `\n`, "\n"), fields[1], orders).String()
		if got != fields[0] && !*rewrite {
			t.Errorf("%s (default schema %q): %s, want %s", fields[2], fields[1], got, fields[0])
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\n", got, fields[1], fields[2])
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A statement in the binlog has its client's charset.
func TestRefersInAnotherCharset(t *testing.T) {
	table := schema.Name{Schema: "shop", Table: "commandé"}
	for sql, want := range map[string]Effect{
		"ALTER TABLE commandé ADD a INT":          Changes,
		"ALTER TABLE command\xe9 ADD a INT":       Changes,
		"ALTER TABLE command ADD a INT":           None,
		"INSERT INTO command\xe9 VALUES (1)":      Writes,
		"DROP TABLE other /* command\xe9 */":      None,
		"TRUNCATE `command\xe9`":                  Changes,
		"RENAME TABLE a TO b, command\xe9 TO old": Changes,
	} {
		if got := Refers(sql, "shop", table); got != want {
			t.Errorf("%q: %s, want %s", sql, got, want)
		}
	}
}
