package migration_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
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

// TestU3_UndoOfTablesWithLongNames: the names of two tables differ in their last letter. Both changes can be undone.
func TestU3_UndoOfTablesWithLongNames(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
		run := func(alter *ddl.Alter, undo *planning.Undo) {
			options := planning.Options{
				Plan: plan.Options{Method: plan.MethodShadow}, Undo: undo, Config: b.cfg, Settings: b.settings, FactsOnly: true,
			}
			p, err := planning.Make(b.ctx(), server, alter, options)
			if err == nil {
				_, err = migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), b.told.listen).Run(b.ctx())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		var tables []schema.Name
		for _, last := range []string{"a", "b"} {
			tables = append(tables, schema.Name{Schema: b.schema, Table: strings.Repeat("p", 63) + last})
		}
		for _, table := range tables {
			b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + plan.UndoOf(table).Quoted()) })
			b.exec("CREATE TABLE "+table.Quoted()+" (id INT PRIMARY KEY, note VARCHAR(9))", "INSERT INTO "+table.Quoted()+" VALUES (1, 'n')")
			alter, err := ddl.Parse("ALTER TABLE " + table.Quoted() + " DROP COLUMN note")
			if err != nil {
				b.Fatal(err)
			}
			run(alter, nil)
		}
		for _, table := range tables {
			run(&ddl.Alter{Table: table}, &planning.Undo{})
			if note := b.value("SELECT note FROM " + table.Quoted()); note != "n" {
				b.Errorf("%s has the value %s", table, note)
			}
		}
	})
}
