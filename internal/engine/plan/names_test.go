package plan

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
)

// proveNames proves what NamesOf promises for one table.
func proveNames(t *testing.T, table string) {
	t.Helper()
	source := schema.Name{Schema: "s", Table: table}
	seen := map[string]bool{table: true}
	onReplica := RehearsingOnReplica.NamesOf(source)
	for _, n := range append(append(NamesOf(source).All(), OldNames(source)[1:]...), onReplica.Shadow, onReplica.State) {
		switch {
		case n.Schema != "s":
			t.Errorf("%q: artefact in schema %q", table, n.Schema)
		case n.Table <= table:
			t.Errorf("%q: artefact %q sorts before it", table, n.Table)
		case utf8.RuneCountInString(n.Table) > maxName:
			t.Errorf("%q: artefact %q has %d characters", table, n.Table, utf8.RuneCountInString(n.Table))
		case fileLength(n.Table) > fileLimit(table):
			t.Errorf("%q: artefact %q takes %d bytes as a file's name", table, n.Table, fileLength(n.Table))
		case !utf8.ValidString(n.Table):
			t.Errorf("%q: artefact %q is not UTF-8", table, n.Table)
		case seen[n.Table]:
			t.Errorf("%q: artefact %q twice", table, n.Table)
		}
		seen[n.Table] = true
	}
}

// RENAME takes its locks in the order of names: an artefact that sorts before the table's own name
// can lose writes (mysql-facts, section 1).
func TestNamesSortAfterTheTable(t *testing.T) {
	for table, shadow := range map[string]string{
		"orders":                "orders_shadow",
		"o":                     "o_shadow",
		strings.Repeat("a", 50): strings.Repeat("a", 50) + "_shadow",
		strings.Repeat("a", 51): strings.Repeat("a", 43) + "~bfc5fe_shadow",
		strings.Repeat("a", 64): strings.Repeat("a", 43) + "~ffe054_shadow",
		strings.Repeat("é", 48): strings.Repeat("é", 43) + "～504a2d_shadow", // no longer than the table's file
		strings.Repeat("é", 30): strings.Repeat("é", 30) + "_shadow",
		strings.Repeat("語", 40): strings.Repeat("語", 36) + "～5bab99_shadow",
		strings.Repeat("~", 64): strings.Repeat("~", 43) + "～1049f7_shadow",
		strings.Repeat("～", 50): strings.Repeat("～", 43) + "\uFFFF998178_shadow",
	} {
		if got := NamesOf(schema.Name{Table: table}).Shadow.Table; got != shadow {
			t.Errorf("shadow of %q is %q, want %q", table, got, shadow)
		}
		proveNames(t, table)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	alphabets := [][]rune{
		[]rune("abcXYZ019_$"),
		[]rune("~}|éàß"),
		[]rune("日本語한국"),
		[]rune("\u0080\u07ff\uffee～\ufffd"),
		[]rune(" -.`'\"/\\"),
	}
	for range 20_000 {
		n := 1 + random.IntN(maxName)
		if random.IntN(2) == 0 {
			n = 50 + random.IntN(15)
		}
		name := make([]rune, n)
		for i := range name {
			a := alphabets[random.IntN(len(alphabets))]
			if random.IntN(3) == 0 {
				a = alphabets[0]
			}
			name[i] = a[random.IntN(len(a))]
		}
		if fileLength(string(name)) <= 251 || random.IntN(10) == 0 {
			proveNames(t, string(name))
		}
	}
}

// TestCallersIgnoreOurTables: the pattern of docs/callers.md, which keeps Skeema and Alembic from dropping them, finds every table that
// runs and undos leave, and no table of the application.
func TestCallersIgnoreOurTables(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("docs/callers.md")
	_, line, _ := strings.Cut(page, "\nignore-table=")
	pattern, _, _ := strings.Cut(line, "\n")
	for _, path := range []string{"contrib/alembic/midstream_alembic.py", "judge/callers/callers.go"} {
		if !strings.Contains(read(path), pattern) {
			t.Errorf("%s has another pattern than %s", path, pattern)
		}
	}
	if strings.Count(page, pattern) != 2 {
		t.Errorf("docs/callers.md has more than one pattern")
	}
	ours := regexp.MustCompile(pattern)
	for _, table := range []string{"orders", strings.Repeat("a", 64)} {
		source := schema.Name{Schema: "s", Table: table}
		left := append(NamesOf(source).All(), LogOf(source), UndoOf(source))
		for _, names := range [][]schema.Name{OldNames(source), UndoneNames(source), ParkedNames(source), ValuesNames(source)} {
			left = append(left, names...)
		}
		for _, name := range left {
			if !ours.MatchString(name.Table) {
				t.Errorf("%s does not find %s", pattern, name.Table)
			}
		}
		if ours.MatchString(table) {
			t.Errorf("%s finds %s", pattern, table)
		}
	}
}
