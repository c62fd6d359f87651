package queue

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/ops/groups"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestL2_AGroupTakesTheTurnOfEachTable: a change that shares one table with a group waits for it, and a group waits for each change
// that shares one of its tables. Others do not wait.
func TestL2_AGroupTakesTheTurnOfEachTable(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	submit := func(id, server string, together bool, statements ...string) Change {
		t.Helper()
		var c Change
		asked := Submission{ID: id, Server: server, Together: together, Statements: statements}
		if !together {
			asked.Statement, asked.Statements = statements[0], nil
		}
		if status := call(t, s, "POST", "/v1/changes", asked, &c); status != http.StatusCreated {
			t.Fatalf("%s: %d %+v", id, status, c)
		}
		return c
	}
	const add = " ADD COLUMN c INT"
	submit("one", "db1", false, "ALTER TABLE shop.items"+add)
	g := submit("group", "db1", true, "ALTER TABLE shop.orders"+add, "ALTER TABLE shop.items"+add)
	if !g.Together || g.Table != "shop.orders" || !slices.Equal(g.Tables, []string{"shop.orders", "shop.items"}) || g.Named() != "shop.orders, shop.items" {
		t.Errorf("%+v", g)
	}
	submit("two", "db1", false, "ALTER TABLE shop.ORDERS"+add)
	submit("other", "db1", true, "ALTER TABLE shop.stock"+add, "ALTER TABLE shop.items"+add)
	submit("free", "db1", false, "ALTER TABLE shop.free"+add)
	submit("elsewhere", "db2", true, "ALTER TABLE shop.orders"+add, "ALTER TABLE shop.items"+add)
	for id, want := range map[string]string{
		"one": "", "group": "one, which was submitted earlier, also changes shop.items", "two": "group, which was submitted earlier, also changes shop.ORDERS",
		"other": "one, which was submitted earlier, also changes shop.items", "free": "", "elsewhere": "",
	} {
		if got := s.waitsFor(s.find(id)); got != want {
			t.Errorf("%s waits for %q instead of %q", id, got, want)
		}
	}
	if _, err := s.Withdraw(t.Context(), "one", "", anyone); err != nil {
		t.Fatal(err)
	}
	if got := s.waitsFor(s.find("other")); got != "group, which was submitted earlier, also changes shop.items" {
		t.Errorf("other waits for %q", got)
	}
	if got := s.waitsFor(s.find("group")); got != "" {
		t.Errorf("the group waits for %q", got)
	}
}

// TestAGroupIsSubmittedOnce: the same statements with the same id are one submission, however they are spelled; the same text without
// together is another one. Several statements that are no group are refused.
func TestAGroupIsSubmittedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	store := file(t, path)
	s := queue(t, store)
	one, two := "ALTER TABLE shop.a ADD COLUMN c INT -- a comment", "ALTER TABLE shop.b ADD COLUMN c INT"
	var first, again Change
	if status := call(t, s, "POST", "/v1/changes", Submission{ID: "g", Server: "db1", Together: true, Statements: []string{one + ";", " " + two}}, &first); status != http.StatusCreated {
		t.Fatalf("%d %+v", status, first)
	}
	if want := one + "\n;\n" + two; first.Statement != want {
		t.Errorf("the statement is %q", first.Statement)
	}
	if status := call(t, s, "POST", "/v1/changes", Submission{ID: "g", Server: "db1", Together: true, Statement: first.Statement}, &again); status != http.StatusOK {
		t.Errorf("%d %+v", status, again)
	}
	var p socket.Problem
	if status := call(t, s, "POST", "/v1/changes", Submission{ID: "g", Server: "db1", Statement: two}, &p); status != http.StatusConflict ||
		!strings.Contains(p.Detail, "shop.a, shop.b") {
		t.Errorf("%d %+v", status, p)
	}
	if status := call(t, s, "POST", "/v1/changes", Submission{Server: "db1", Statement: two, Statements: []string{one}}, &p); status != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Next, "--together") {
		t.Errorf("%d %+v", status, p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = queue(t, store)
	if now, there := s.Change("g"); !there || !slices.Equal(now.Tables, []string{"shop.a", "shop.b"}) || !now.Together {
		t.Errorf("the store has %+v", now)
	}
	if got := s.command("run", s.find("g"), ""); !slices.Contains(got, "--together") || got[len(got)-1] != first.Statement {
		t.Errorf("the run gets %q", got)
	}
}

// TestL9_TheEndOfAGroupNamesAllTables: what is left, what was kept, and the complete statements.
func TestL9_TheEndOfAGroupNamesAllTables(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	asked := Submission{ID: "g", Server: "db1", Together: true, Options: map[string]string{"key": "shop.a: x\nshop.b: y", "hold": "true"},
		Statements: []string{"ALTER TABLE shop.a ADD COLUMN c INT", "ALTER TABLE shop.b ADD COLUMN c INT"}}
	if _, _, err := s.Submit(t.Context(), asked, anyone); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		result *record.Result
		state  State
		says   []string
	}{
		{nil, StateUnknown, []string{"killed", "midstream cleanup  shop.a, midstream cleanup  shop.b"}},
		{&record.Result{Outcome: "done", ElapsedMS: 1000, Old: "shop.a_old, shop.b_old", Tables: []record.Table{{Table: "shop.a", Old: "shop.a_old"},
			{Table: "shop.b", Old: "shop.b_old"}}}, StateDone, []string{"the old tables are kept as shop.a_old, shop.b_old", "midstream cleanup  --old shop.b"}},
		{&record.Result{Outcome: "done", Rehearsal: "rehearsal"}, StateDone, []string{"the 2 tables are unchanged"}},
		{&record.Result{Outcome: "refused", Error: "a column needs another type", Needed: &record.Needed{Command: "x", Tables: []record.NeededTable{
			{Table: "shop.a", Statement: "ALTER TABLE shop.a MODIFY x INT"}, {Table: "shop.c", Statement: "ALTER TABLE shop.c MODIFY y INT"}}}},
			StateFailed, []string{"a column needs", "midstream submit  --server=db1 --together --option=hold=true --option='key=shop.a: x' --option='key=shop.b: y' " +
				"'ALTER TABLE shop.a MODIFY x INT' 'ALTER TABLE shop.c MODIFY y INT'"}},
	} {
		e := *s.find("g")
		e.settle(c.result, s.unfilled(&e))
		for _, want := range c.says {
			if text := e.Why + " " + e.Next; e.State != c.state || !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %q", e.State, want, text)
			}
		}
	}
}

// TestL5_HistoriesOfAGroupComeOutOfTheStore: those of a run that ended on another machine, one for each table.
func TestL5_HistoriesOfAGroupComeOutOfTheStore(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	asked := Submission{ID: "g", Server: "db1", Together: true, Statement: "ALTER TABLE shop.b ADD COLUMN c INT; ALTER TABLE shop.a ADD COLUMN c INT"}
	if _, _, err := s.Submit(t.Context(), asked, anyone); err != nil {
		t.Fatal(err)
	}
	changed, began := *s.find("g"), time.Now()
	changed.Place, changed.Began = "elsewhere", &began
	changed.end(StateDone, "", "")
	folder := t.TempDir()
	var written []string
	for _, table := range []string{"shop.a", "shop.b"} {
		w, err := history.Begin(folder, record.Run{Table: table, Group: "one"}, began)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, w.Path())
	}
	text, err := groups.Join(written)
	if err == nil {
		err = s.put(t.Context(), &changed, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.show(&changed)
	for range 2 { // the second time they are there
		paths, over, err := s.Histories(t.Context(), "g")
		if len(paths) != 2 || !over || err != nil {
			t.Fatalf("%q, %t, %v", paths, over, err)
		}
		story, err := history.Whole(paths[0])
		if err != nil || story.Run.Table != "shop.a" || len(story.Together) != 1 || story.Together[0].Run.Table != "shop.b" {
			t.Errorf("%+v, %v", story, err)
		}
	}
}
