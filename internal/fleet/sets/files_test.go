package sets_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"midstream/internal/fleet/sets"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

const filed = "id: filed\nfiles: [schema]\nselector: app=shop\nwaves:\n  - {name: all}\n"

// TestASetKeepsItsFiles: a set is its rules and the texts of its files, also after a restart. What no member could do is refused.
func TestASetKeepsItsFiles(t *testing.T) {
	folder := t.TempDir()
	s, _, end := ofTwoOver(t, folder, nil)
	files := []queue.File{{Name: "b.sql", Text: "CREATE TABLE b (id INT)"}, {Name: "a.sql", Text: "CREATE TABLE a (id INT)"}}
	v, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: filed, Files: files}, by("Ada"))
	if err != nil || !fresh || !slices.Equal(v.Files, []string{"a.sql", "b.sql"}) || v.Statement != "" {
		t.Fatalf("%+v %t %v", v, fresh, err)
	}
	other := []queue.File{files[0], {Name: "a.sql", Text: "CREATE TABLE a (id BIGINT)"}}
	for range 2 {
		slices.Reverse(files)
		again, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: filed, Files: files}, by("Ada"))
		if err != nil || fresh || again.Digest != v.Digest {
			t.Errorf("%t %v", fresh, err)
		}
		if _, _, err = s.Submit(t.Context(), sets.SetFile{Text: filed, Files: other}, by("Ada")); status(err) != http.StatusConflict {
			t.Errorf("other texts with the same id: %v", err)
		}
		end()
		s, _, end = ofTwoOver(t, folder, nil)
	}
	named := strings.ReplaceAll(filed, "filed", "other")
	w, _, err := s.Submit(t.Context(), sets.SetFile{Text: named, Files: other}, by("Ada"))
	if err != nil || w.Digest == v.Digest {
		t.Errorf("%s %v", w.Digest, err)
	}
	for what, asked := range map[string]sets.SetFile{
		"keeps no undo":           {Text: named + "undo: 24h\n", Files: files},
		"has no barrier":          {Text: named + "swap: {when: barrier}\n", Files: files},
		"texts are missing":       {Text: named},
		"rules name none":         {Text: strings.Replace(shop, "note", "other", 1), Files: files},
		"256 KiB":                 {Text: named, Files: []queue.File{{Name: "a.sql", Text: strings.Repeat("-", 256<<10+1)}}},
		`"../a.sql" is not`:       {Text: named, Files: []queue.File{{Name: "../a.sql", Text: "x"}}},
		`have the name "a.sql"`:   {Text: named, Files: []queue.File{files[1], files[1]}},
		"a statement and files":   {Text: shop + "files: [a.sql]\n", Files: files},
		"no statement and no fil": {Text: strings.Replace(named, "files: [schema]\n", "", 1), Files: files},
	} {
		if _, _, err := s.Submit(t.Context(), asked, by("Ada")); status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestASetWithFiles: each member reaches the definitions in the files from what it has. One lacks only a column, one has all, and one has
// a column that the files lack: it is named before anything is written. No table is swapped before its member is released; then each
// member swaps all of its tables, also after its run was killed.
func TestASetWithFiles(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t, shared(t), 300)
	var name, orders string
	if err := f.dbs[0].QueryRow("SHOW CREATE TABLE orders").Scan(&name, &orders); err != nil {
		t.Fatal(err)
	}
	const note = "`note` int NOT NULL DEFAULT 7"
	orders = strings.Replace(orders, "\n  PRIMARY KEY", "\n  "+note+",\n  PRIMARY KEY", 1)
	items := "CREATE TABLE items (id INT PRIMARY KEY, n BIGINT)"
	fresh := "CREATE TABLE fresh (id INT PRIMARY KEY)"
	for n, db := range f.dbs {
		if n%2 == 1 || n == 2 { // 8.0.12 swaps no two tables in one step
			mysqltest.Exec(t, db, items)
			continue
		}
		mysqltest.Exec(t, db, "CREATE TABLE items (id INT PRIMARY KEY, n INT)", "INSERT INTO items VALUES (1, 7)")
	}
	mysqltest.Exec(t, f.dbs[1], "ALTER TABLE orders ADD COLUMN "+note, fresh)
	mysqltest.Exec(t, f.dbs[6], "ALTER TABLE orders ADD COLUMN own INT")
	for path, text := range map[string]string{"schema/orders.sql": orders, "schema/2.sql": items + ";\n" + fresh, "files.yaml": `id: files
files: [schema]
selector: app=shop
waves:
  - {name: canary, selector: n=m0}
  - {name: some, selector: "n in (m1,m2,m3)"}
  - {name: rest}
limits: {all: 4}
retry: {wait: 1s}
swap: {when: released}
`} {
		path = filepath.Join(f.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.option(3, "undo=24h") // which several tables in one step do not keep
	has := func(n int) string {
		return f.has(n, "note") + mysqltest.Text(f.dbs[n], "SELECT COUNT(*) FROM information_schema.columns"+
			" WHERE table_schema = DATABASE() AND table_name = 'items' AND column_type LIKE 'bigint%'")
	}
	f.begin()
	f.says(11, []string{"m6 does not fit", "definitions in 2.sql, orders.sql", "column own would be dropped"}, "submit", filepath.Join(f.home, "files.yaml"), "--wait")
	if err := os.RemoveAll(filepath.Join(f.home, "schema")); err != nil {
		t.Fatal(err)
	}
	f.proves("note", 0, 2, 3, 4, 5, 6, 7)
	f.says(0, nil, "skip", "files", "--server=m6")
	f.killRun("files@m0")
	for wave, ready := range [][]int{{0}, {2, 3}, {4, 5, 7}} {
		v := f.until("files", func(v sets.View) bool { return v.Waves[wave].Counts["ready"] == len(ready) })
		for _, n := range ready {
			if got, want := has(n), map[bool]string{true: "01", false: "00"}[n%2 == 1 || n == 2]; got != want {
				t.Errorf("m%d has swapped without a release: %s", n, got)
			}
		}
		f.says(0, nil, "release", "files", "--wave="+v.Waves[wave].Name)
	}
	f.until("files", func(v sets.View) bool { return v.State == "finished" })
	f.says(0, []string{"finished", "do not have it: m6"}, "status", "files", "--wait")
	f.proves("note", 6)
	for n := range f.dbs {
		got := has(n) + mysqltest.Text(f.dbs[n], "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'fresh'")
		if want := map[bool]string{true: "000", false: "111"}[n == 6]; got != want {
			t.Errorf("m%d has %s", n, got)
		}
	}
	for _, m := range f.view("files").Members {
		want := map[string]string{"m1": "applied", "m6": "skipped"}[m.Server]
		if want == "" {
			want = "done"
		}
		if m.State != want || m.Server != "m0" && m.Attempt > 1 {
			t.Errorf("%+v", m)
		}
	}
}
