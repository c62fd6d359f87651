package dump

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema/token"
)

// TestFilesOf: a table's name gives the name of a file in the folder, and no two tables give one.
func TestFilesOf(t *testing.T) {
	long := strings.Repeat("日", 64)
	got := filesOf([]string{"orders", "a/b", "..", "a.b", "-x", "a%2Fb", "Größe", "line\nbreak", "T", "t", strings.Repeat("/", 64), long})
	want := []string{"orders.sql", "a%2Fb.sql", "%2E%2E.sql", "a%2Eb.sql", "%2Dx.sql", "a%252Fb.sql", "Größe.sql", "line%0Abreak.sql",
		"T~be047a60.sql", "t~856a5aa8.sql", strings.Repeat("%2F", 60) + "~", long[:180] + "~"}
	for i, name := range got {
		if !strings.HasPrefix(name, want[i]) || len(name) > 255 {
			t.Errorf("%q, not %q", name, want[i])
		}
	}
	if slices.Sort(got); len(slices.Compact(got)) != len(want) {
		t.Errorf("%q", got)
	}
}

// TestTextOf: the text is that of the server, without AUTO_INCREMENT=n, and reads the same in each sql_mode.
func TestTextOf(t *testing.T) {
	const create = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT COMMENT 'AUTO_INCREMENT=5 it''s \\\\ \\n',\n  `b` char(1) DEFAULT '\\\\',\n" +
		"  PRIMARY KEY (`id`)\n) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4 COMMENT=') AUTO_INCREMENT=9'\n/*!50100 PARTITION BY KEY (id) */"
	want, _ := token.Split(strings.Replace(create, " AUTO_INCREMENT=17", "", 1))
	for _, d := range []token.Dialect{{}, {ANSIQuotes: true}, {NoBackslashEscapes: true}, {ANSIQuotes: true, NoBackslashEscapes: true}} {
		text, err := textOf(create, d)
		if err != nil {
			t.Fatal(err)
		}
		resolved, closed := d.Resolve(strings.TrimSuffix(text, ";\n"))
		got, _ := token.Split(resolved)
		same := func(a, b token.Token) bool {
			return a.Kind == b.Kind && a.Text == b.Text && a.Executable == b.Executable
		}
		if !closed || !slices.EqualFunc(got, want, same) || !strings.HasSuffix(text, "*/;\n") {
			t.Errorf("%+v: %s\n%s", d, text, resolved)
		}
	}
}
