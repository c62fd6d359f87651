package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestL8_UndoTableOfAStranger: the name of the undo table belongs to another table. The plan is refused, and nothing is
// written; the swap would come before the run finds out.
func TestL8_UndoTableOfAStranger(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT)", "CREATE TABLE "+b.schema+".t_undo (id INT PRIMARY KEY)",
			"INSERT INTO "+b.schema+".t_undo VALUES (1)")
		b.cfg.Undo = time.Hour
		before := b.tables()
		for _, clauses := range []string{"MODIFY v BIGINT", "ADD COLUMN w INT"} {
			var refused *plan.Refused
			if _, err := b.migrate(b.ctx(), clauses); !errors.As(err, &refused) || !strings.Contains(err.Error(), "t_undo exists") {
				b.Errorf("%s: %v", clauses, err)
			}
		}
		if now := b.tables(); now != before || b.value("SELECT id FROM "+b.schema+".t_undo") != "1" {
			b.Errorf("the tables are %s, and were %s", now, before)
		}
	})
}

// longNamed makes two tables whose names differ in their last letter.
func (b *bench) longNamed() (tables [2]schema.Name) {
	b.Helper()
	for i, last := range []string{"a", "b"} {
		tables[i] = schema.Name{Schema: b.schema, Table: strings.Repeat("p", 63) + last}
		b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + plan.UndoOf(tables[i]).Quoted()) })
		b.exec("CREATE TABLE "+tables[i].Quoted()+" (id INT PRIMARY KEY, note VARCHAR(9))", "INSERT INTO "+tables[i].Quoted()+" VALUES (1, 'n')")
	}
	return tables
}

// named is a run, with connections of its own, that changes a table of any name; without clauses it takes the last change back.
func (b *bench) named(table schema.Name, clauses string) *migration.Migration {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pool.Close() })
	alter, options := &ddl.Alter{Table: table}, planning.Options{Config: b.cfg, Settings: b.settings, FactsOnly: true}
	if clauses == "" {
		options.Undo = &planning.Undo{}
	} else {
		options.Plan.Method = plan.MethodShadow
		alter, err = ddl.Parse("ALTER TABLE " + table.Quoted() + " " + clauses)
	}
	if err != nil {
		b.Fatal(err)
	}
	p, err := planning.Make(b.ctx(), planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}, alter, options)
	if err != nil {
		b.Fatal(err)
	}
	return migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), b.told.listen)
}

// TestU3_UndoOfTablesWithLongNames: the names of two tables differ in their last letter. Both changes can be undone.
func TestU3_UndoOfTablesWithLongNames(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		tables := b.longNamed()
		for _, clauses := range []string{"DROP COLUMN note", ""} {
			for _, table := range tables {
				if _, err := b.named(table, clauses).Run(b.ctx()); err != nil {
					b.Fatal(err)
				}
			}
		}
		for _, table := range tables {
			if note := b.value("SELECT note FROM " + table.Quoted()); note != "n" {
				b.Errorf("%s has the value %s", table, note)
			}
		}
	})
}

// TestL8_TwoRunsOnTablesWithLongNames: runs on two tables, whose names differ in their last letter, are at work at the same
// time, and leave their undos.
func TestL8_TwoRunsOnTablesWithLongNames(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		tables := b.longNamed()
		var working sync.WaitGroup
		for i, table := range tables {
			run := b.named(table, fmt.Sprintf("ADD COLUMN added%d INT", i))
			working.Go(func() {
				if _, err := run.Run(b.ctx()); err != nil {
					b.Errorf("run %d: %v", i, err)
				}
			})
		}
		working.Wait()
		for i, table := range tables {
			if n := b.value(fmt.Sprintf("SELECT COUNT(added%d) + COUNT(*) FROM %s", i, table.Quoted())); n != "1" {
				b.Errorf("%s has not its column", table)
			}
			b.exec("DROP TABLE " + plan.UndoOf(table).Quoted())
		}
	})
}

// TestL9_AStrangerTakesTheNameOfTheUndoTable: another session makes a table of that name after the plan has found it free.
// The swap comes, nothing of the undo is lost, and the message names the table. After a RENAME of that table, the same command
// keeps the undo, whether or not other commands came in between.
func TestL9_AStrangerTakesTheNameOfTheUndoTable(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.numbered(50)
		before := b.definition()
		run := func() *child { return b.child("DROP COLUMN u", "", nil, "--undo=1h") }
		b.wire(fault.Rule{At: "RENAME TO `" + b.schema + "`.`t_undo`", Call: func() {
			b.exec("CREATE TABLE "+b.schema+".t_undo (id INT)", "INSERT INTO "+b.schema+".t_undo VALUES (7)")
		}})
		code, last := run().wait()
		b.address = b.server.Address
		if code != 15 || !strings.Contains(last, "rename `"+b.schema+"`.`t_undo`") && !strings.Contains(last, "rename "+b.schema+".t_undo") {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.exec("UPDATE " + b.schema + ".t SET v = 5 WHERE id = 3")
		if code, last := b.undoing().wait(); code == 0 || !strings.Contains(last, "rename") {
			b.Errorf("undo: exit code %d: %s", code, last)
		}
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		agree := func([]leftovers.Table) bool { return true }
		_, err = leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, true, agree, func(string) {})
		pool.Close()
		if !errors.Is(err, leftovers.ErrUndoTaken) {
			b.Errorf("cleanup: %v", err)
		}
		if got := b.tables(); got != "digits,t,t_midstream,t_old,t_undo" || b.value("SELECT id FROM "+b.schema+".t_undo") != "7" {
			b.Errorf("the tables are %s", got)
		}
		b.exec("RENAME TABLE " + b.schema + ".t_undo TO " + b.schema + ".z")
		run().mustEnd()
		b.undoing().mustEnd()
		b.mustBeDefined("undo", before)
		if got := b.value("SELECT CONCAT(COUNT(*), ' ', SUM(u), ' ', SUM(v)) FROM " + b.schema + ".t"); got != "50 1275 5" {
			b.Errorf("the rows are %s", got)
		}
		b.undoing("--end").mustEnd()
	})
}
