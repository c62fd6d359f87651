package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// tableFacts are the facts of a statement on shop.t, of 100 MiB, and of free names.
func tableFacts(t *testing.T, sql string) (*ddl.Statement, *StatementFacts) {
	t.Helper()
	s, err := ddl.ParseStatement(sql)
	if err == nil {
		err = s.In("shop")
	}
	if err != nil {
		t.Fatal(err)
	}
	facts := &StatementFacts{}
	for _, name := range s.Tables() {
		f := TableFacts{Name: name, Facts: good()}
		f.Facts.BufferPool = 8 << 30
		if name.Table == "t" {
			f.Table = &schema.Table{Name: name, Engine: "InnoDB", DataBytes: 60 << 20, IndexBytes: 40 << 20, Comment: "its own"}
		}
		facts.Tables = append(facts.Tables, f)
	}
	return s, facts
}

// TestMakeTables: the plan of a statement on complete tables, for different facts.
func TestMakeTables(t *testing.T) {
	gib := func(n int64) func(*TableFacts) { return func(f *TableFacts) { f.Table.DataBytes = n << 30 } }
	only := func(privileges string) func(*TableFacts) {
		return func(f *TableFacts) {
			f.Facts.Grants = grantsOf(
				"GRANT PROCESS ON *.* TO a", "GRANT SELECT ON performance_schema.* TO a",
				"GRANT "+privileges+" ON shop.* TO a",
			)
		}
	}
	for _, c := range []struct {
		name, sql string
		found     func(f *TableFacts)
		options   TableOptions
		want      string // a text of the plan or refusal
	}{
		{"drop", "DROP TABLE t", nil, TableOptions{}, "ALTER TABLE `shop`.`t` COMMENT = 'midstream dropped of shop.t; it was: its own', RENAME TO `shop`.`t_old`, ALGORITHM=INPLACE | t_old is dropped"},
		{"drop of a table that is large", "DROP TABLE t", gib(4), TableOptions{}, "t_old is kept, because its drop would stall the server for about 1.7 s"},
		{"more so with the hash index", "DROP TABLE t", func(f *TableFacts) { gib(4)(f); f.Facts.AdaptiveHash = true }, TableOptions{}, "for about 4.1 s"},
		{"of which little can be in memory", "DROP TABLE t", func(f *TableFacts) { gib(4)(f); f.Facts.BufferPool = 128 << 20 }, TableOptions{}, "t_old is dropped"},
		{"all the same", "DROP TABLE t", gib(4), TableOptions{Drop: true}, "t_old is dropped | risk: the drop of shop.t_old stalls every session for about 1.7 s"},
		{"a longer stall is allowed", "DROP TABLE t", gib(4), TableOptions{Stall: time.Minute}, "t_old is dropped"},
		{"later", "DROP TABLE t", nil, TableOptions{Keep: true}, "t_old is kept; drop it"},
		{"in partitions", "DROP TABLE t", func(f *TableFacts) { gib(4)(f); f.Partitions = make([]string, 40) }, TableOptions{}, "t_old is dropped, partition by partition"},
		{"of no table", "DROP TABLE x", nil, TableOptions{}, "refused: no such table: shop.x"},
		{"if exists", "DROP TABLE IF EXISTS x", nil, TableOptions{}, "none: there is no such table"},
		{"without privileges to rename it", "DROP TABLE t", only("DROP"), TableOptions{}, "DROP TABLE `shop`.`t` | instant: the server drops the table under the lock, because the account lacks ALTER, CREATE, INSERT"},
		{"which can't be kept", "DROP TABLE t", only("DROP"), TableOptions{Keep: true}, "refused: the old table cannot be kept"},
		{"without any", "DROP TABLE t", only("SELECT"), TableOptions{}, "refused: account app@% lacks DROP on `shop`.`t`"},
		{"of MyISAM", "DROP TABLE t", func(f *TableFacts) { f.Table.Engine = "MyISAM" }, TableOptions{}, "its engine is MyISAM"},
		{"all names taken", "DROP TABLE t", func(f *TableFacts) {
			for _, n := range OldNames(f.Name) {
				f.Facts.Taken = append(f.Facts.Taken, Taken{Name: n})
			}
		}, TableOptions{}, "DROP TABLE `shop`.`t` | instant: the server drops the table under the lock, because other tables have all the names"},
		{"first name taken", "DROP TABLE t", func(f *TableFacts) { f.Facts.Taken = []Taken{{Name: f.Name.Sibling("t_old")}} }, TableOptions{}, "t_old2 is dropped"},
		{"truncate", "TRUNCATE t", nil, TableOptions{}, "RENAME TABLE `shop`.`t` TO `shop`.`t_old`, `shop`.`t_shadow` TO `shop`.`t`"},
		{"with a trigger", "TRUNCATE t", func(f *TableFacts) { f.Table.Triggers = []schema.Trigger{{Name: "g"}} }, TableOptions{}, "TRUNCATE TABLE `shop`.`t` | instant: the server truncates the table under the lock, because it has triggers"},
		{"of a large one", "TRUNCATE t", func(f *TableFacts) { gib(4)(f); f.Table.Triggers = []schema.Trigger{{Name: "g"}} }, TableOptions{}, "risk: no session can use shop.t for about 1.7 s"},
		{"with a foreign key", "TRUNCATE t", func(f *TableFacts) {
			f.Table.ForeignKeys = []schema.ForeignKey{{Constraint: "f", Child: f.Name, Parent: f.Name.Sibling("p")}}
		}, TableOptions{}, "because it has foreign keys"},
		{"that others refer to", "TRUNCATE t", func(f *TableFacts) {
			f.Facts.Referencing = []schema.ForeignKey{{Constraint: "f", Child: f.Name.Sibling("c"), Parent: f.Name}}
		}, TableOptions{}, "refused: foreign key f of shop.c refers to the table"},
		{"replica", "TRUNCATE t", func(f *TableFacts) { f.Facts.Following = true }, TableOptions{}, "refused: this server replicates from another one"},
		{"read-only server", "TRUNCATE t", func(f *TableFacts) { f.Facts.ReadOnly = true }, TableOptions{}, "refused: the server is read-only"},
		{"a run at work", "TRUNCATE t", func(f *TableFacts) { f.Facts.RunBy = 7 }, TableOptions{}, "refused: another run of Midstream is working on shop.t (connection 7)"},
		{"a stopped run", "RENAME TABLE t TO n", func(f *TableFacts) {
			f.Facts.Taken = []Taken{{Name: f.Name.Sibling("t_midstream"), Comment: schema.MarkFor("state", f.Name)}}
		}, TableOptions{}, "refused: an earlier run on shop.t left t_midstream"},
		{"an artefact", "DROP TABLE t", func(f *TableFacts) { f.Table.Comment = schema.MarkFor("state", f.Name.Sibling("x")) }, TableOptions{}, "refused: shop.t is an artefact of Midstream"},
		{"an old table", "DROP TABLE t", func(f *TableFacts) { f.Table.Comment = schema.MarkOld(f.Name.Sibling("x"), "") }, TableOptions{}, "t_old is dropped"},
		{"the server's own", "DROP TABLE user", nil, TableOptions{}, "refused: mysql is the server's own schema"},
		{"another method", "DROP TABLE t", nil, TableOptions{Method: MethodShadow}, "refused: a DROP TABLE can't be done by the method shadow"},
		{"rename to a name that is taken", "RENAME TABLE x TO t", nil, TableOptions{}, "refused: no such table: shop.x"},
		{"rename to itself", "RENAME TABLE t TO t", nil, TableOptions{}, "refused: shop.t exists"},
		{"rename there and on", "RENAME TABLE t TO n, n TO m", nil, TableOptions{}, "RENAME TABLE `shop`.`t` TO `shop`.`n`, `shop`.`n` TO `shop`.`m`"},
	} {
		s, facts := tableFacts(t, c.sql)
		if c.name == "the server's own" {
			s.Table.Schema = "mysql"
			facts.Tables[0].Name.Schema = "mysql"
		}
		if c.found != nil {
			c.found(&facts.Tables[0])
		}
		p, err := MakeTables(s, facts, c.options)
		if got := told(p, err); !containsAll(got, strings.Split(c.want, " | ")) {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// told is the text of a plan, or why there is none.
func told(p *TablePlan, err error) string {
	var refused *Refused
	if errors.As(err, &refused) {
		var reasons []string
		for _, r := range refused.Blocking {
			reasons = append(reasons, "refused: "+r.What)
		}
		return strings.Join(reasons, " | ")
	}
	text := fmt.Sprintf("%s | %s: %s | %s", p.Main, p.Choice.Method, p.Choice.Why, strings.Join(p.Steps, " | "))
	for _, r := range p.Risks {
		text += " | risk: " + r.What
	}
	return text
}

// TestRenamesThatGoRound: where each table ends up decides what a lost answer was.
func TestRenamesThatGoRound(t *testing.T) {
	s, facts := tableFacts(t, "RENAME TABLE t TO n, u TO t, n TO u")
	for i := range facts.Tables {
		if facts.Tables[i].Name.Table == "u" {
			facts.Tables[i].Table = &schema.Table{Name: facts.Tables[i].Name, Engine: "InnoDB"}
		}
	}
	p, err := MakeTables(s, facts, TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Moves, p.Gone); got != "[{shop.t shop.u} {shop.u shop.t}] []" {
		t.Error(got)
	}
}

// TestTablesAndKills: if an account can kill no sessions, the plan reports it beforehand.
func TestTablesAndKills(t *testing.T) {
	s, facts := tableFacts(t, "DROP TABLE t")
	facts.Tables[0].Facts.Grants = grantsOf(
		"GRANT PROCESS ON *.* TO a", "GRANT SELECT ON performance_schema.* TO a",
		"GRANT ALL PRIVILEGES ON shop.* TO a",
	)
	for kills, want := range map[bool]string{false: "", true: "lacks CONNECTION_ADMIN on *.*"} {
		_, err := MakeTables(s, facts, TableOptions{Kills: kills})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("kills %t: %v", kills, err)
		}
	}
}
