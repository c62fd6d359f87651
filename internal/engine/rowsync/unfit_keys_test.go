package rowsync_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
)

// spellings are keys of which some are equal, by the collation.
var spellings = []string{"a", "A", "b", "B", "b ", "B ", "á", "c"}

// collations are those of the key in the source and in the shadow. nopad is one in which trailing blanks count.
var collations = []struct{ source, shadow string }{
	{"utf8mb4_general_ci", "utf8mb4_general_ci"},
	{"utf8mb4_bin", "utf8mb4_bin"},
	{"utf8mb4_general_ci", "utf8mb4_bin"},
	{"utf8mb4_bin", "utf8mb4_general_ci"},
	{"utf8mb4_general_ci", "nopad"},
	{"nopad", "utf8mb4_general_ci"},
	{"nopad", "utf8mb4_bin"},
}

// respelling is a source whose writers give a row's key another spelling, and a shadow that refuses rows whose v is NULL.
type respelling struct {
	*undo
	unfit   *rowsync.Unfit
	random  *rand.Rand
	values  []string         // that writers give v
	changed map[key.Key]bool // keys that are to be synced
}

func respell(t *testing.T, server *mysqltest.Instance, seed uint64, source, shadow, more string, change func(u *undo)) *respelling {
	t.Helper()
	nopad := "utf8mb4_0900_ai_ci"
	switch {
	case strings.HasPrefix(server.Release, "5.7"):
		nopad = "utf8mb4_unicode_ci"
	case strings.Contains(server.Release, "Maria"):
		nopad = "utf8mb4_general_nopad_ci"
	}
	definition := func(collation, v string) string {
		return "id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE " + strings.ReplaceAll(collation, "nopad", nopad) + " NOT NULL PRIMARY KEY, v INT " + v
	}
	r := &respelling{random: rand.New(rand.NewPCG(seed, 7)), changed: map[key.Key]bool{}, values: []string{"NULL", "1", "2"},
		unfit: rowsync.NewUnfit(func(rowsync.UnfitRow) {})}
	r.undo = newUndo(t, server, definition(source, ""), definition(shadow, "NOT NULL"+more), func(u *undo) {
		u.spec.KeyChanged = source != shadow
		u.spec.Upsert = !u.spec.KeyChanged
		if change != nil {
			change(u)
		}
	})
	r.outstanding = func(context.Context, func(key.Key) bool) ([]key.Key, error) {
		return slices.Sorted(maps.Keys(r.changed)), nil
	}
	return r
}

// write changes a row, and has the keys before and after it be synced.
func (r *respelling) write() {
	r.Helper()
	at, v := spellings[r.random.IntN(len(spellings))], r.values[r.random.IntN(len(r.values))]
	before := r.present()
	switch r.random.IntN(4) {
	case 0:
		r.exec("DELETE FROM t WHERE id = '" + at + "'")
	case 1:
		r.exec("INSERT IGNORE INTO t VALUES ('" + at + "', " + v + ")")
	case 2:
		r.exec("UPDATE IGNORE t SET id = '" + at + "', v = " + v + " ORDER BY RAND(" + fmt.Sprint(r.random.IntN(1000)) + ") LIMIT 1")
	case 3:
		r.exec("DELETE FROM t WHERE id = '"+at+"'", "INSERT INTO t VALUES ('"+at+"', "+v+")")
	}
	after := r.present()
	for _, row := range append(slices.Clone(before), after...) {
		if slices.Contains(before, row) && slices.Contains(after, row) {
			continue
		}
		spelled, _, _ := strings.Cut(row, "|")
		r.changed[r.keys(spelled)[0]] = true
	}
}

// present are the rows of the source, with their keys as a query selects them.
func (r *respelling) present() []string {
	return r.rows("SELECT " + r.spec.Key.SelectExprs()[0] + ", v FROM t ORDER BY CAST(id AS BINARY)")
}

// apply syncs some of the changed keys, or all.
func (r *respelling) apply(all bool) {
	r.Helper()
	var keys []key.Key
	for _, k := range slices.Sorted(maps.Keys(r.changed)) {
		if all || r.random.IntN(2) == 0 {
			keys = append(keys, k)
			delete(r.changed, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	if _, err := r.syncer.Keys(r.Context(), r.session, keys); err != nil {
		r.Fatal(err)
	}
}

// listed are the keys of the unfit rows, as they are written.
func (r *respelling) listed() (texts []string) {
	for _, row := range r.unfit.Rows() {
		texts = append(texts, r.spec.Key.Format(row.Key))
	}
	return texts
}

// TestU4_AnUnfitRowIsListedByTheKeyThatItHas: writers delete rows that do not fit, and write them again with keys that only the
// collation holds equal. Each of them is listed once, with the key that it has, and no row is listed that does not exist.
func TestU4_AnUnfitRowIsListedByTheKeyThatItHas(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, c := range collations {
			for _, kind := range []struct {
				name, more string
				change     func(u *undo)
			}{
				{"", "", nil},
				{", replaced", "", func(u *undo) { u.spec.Upsert = false }},
				{", locking", "", func(u *undo) { u.spec.Locking = " LOCK IN SHARE MODE" }},
				{", kept column", ", n INT DEFAULT 7", nil},
				{", left-out rows", "", func(u *undo) {
					u.exec("INSERT INTO t_old VALUES ('a', 5), ('b ', 5)")
					u.spec.Upsert, u.spec.Rest = false, "v < 2"
				}},
			} {
				if kind.name == ", left-out rows" && c.source != c.shadow { // the plan refuses that
					continue
				}
				for seed := range uint64(1) {
					t.Run(fmt.Sprintf("%s %s%s, seed %d", c.source, c.shadow, kind.name, seed), func(t *testing.T) {
						r := respell(t, server, seed, c.source, c.shadow, kind.more, kind.change)
						r.syncer.SetApart(r.unfit)
						r.writeAndApply()
						r.mustBeExact()
					})
				}
			}
		}
	})
}

// TestARowOfAnotherSpellingIsNoDuplicate: writers delete rows, and write them again with keys that only the source's collation holds
// equal. Changes are synced apart from each other, and none finds a duplicate.
func TestARowOfAnotherSpellingIsNoDuplicate(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, shadow := range []string{"utf8mb4_general_ci", "utf8mb4_bin", "nopad"} {
			for _, more := range []string{"", ", n INT DEFAULT 7"} {
				for seed := range uint64(1) {
					t.Run(fmt.Sprintf("%s%s, seed %d", shadow, more, seed), func(t *testing.T) {
						r := respell(t, server, seed, "utf8mb4_general_ci", shadow, more, nil)
						r.values = []string{"1", "2"}
						r.writeAndApply()
						r.mustBeExact()
					})
				}
			}
		}
	})
}

// writeAndApply writes rows, and syncs some of the changed ones after each few writes, and all at the end.
func (r *respelling) writeAndApply() {
	r.Helper()
	for range 60 {
		for range 1 + r.random.IntN(3) {
			r.write()
		}
		r.apply(false)
	}
	r.apply(true)
}

// mustBeExact fails the test unless each row of the source is either in the shadow, or listed.
func (r *respelling) mustBeExact() {
	r.Helper()
	listed := map[string]bool{}
	for _, text := range r.listed() {
		listed[strings.TrimPrefix(text, "id=")] = true
	}
	var want []string
	for _, row := range r.rows("SELECT HEX(id), v IS NULL, " + r.spec.Key.SelectExprs()[0] + " FROM t ORDER BY CAST(id AS BINARY)") {
		parts := strings.SplitN(row, "|", 3)
		literal := r.spec.Key.Literals(r.keys(parts[2])[0])[0]
		if !listed[literal] {
			want = append(want, parts[0])
		}
		if parts[1] == "1" && !listed[literal] {
			r.Errorf("the row %s does not fit, and is not listed: %s", literal, r.listed())
		}
		delete(listed, literal)
	}
	if len(listed) > 0 {
		r.Errorf("no row has the listed keys %v; the rows are %q", slices.Collect(maps.Keys(listed)), r.present())
	}
	if got := r.rows("SELECT HEX(id) FROM t_old WHERE v <> 5 ORDER BY CAST(id AS BINARY)"); !slices.Equal(got, want) {
		r.Errorf("the shadow has the keys %s, and should have %s; listed are %s", got, want, r.listed())
	}
}
