package migration_test

import (
	"errors"
	"testing"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestL11_WhatForeignKeysForbid: the server refuses an ALTER that takes away what a foreign key needs. The plan does not choose the
// server's own method then: it refuses, or a shadow does it. What the server does is planned as before.
func TestL11_WhatForeignKeysForbid(t *testing.T) {
	onThese(t, carrying(t), func(b *bench) {
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		for _, clauses := range []string{
			"DROP INDEX pid", "DROP COLUMN pid", "DROP INDEX code", "DROP INDEX up", "DROP INDEX code, ADD KEY code2 (code)",
			"DROP INDEX pid, DROP FOREIGN KEY f1", "DROP INDEX pid, ADD INDEX pid2 (pid, w)", "DROP INDEX w",
		} {
			b.exec("CREATE TABLE p (id INT PRIMARY KEY)",
				"CREATE TABLE t (id INT PRIMARY KEY, pid INT, code INT NOT NULL, up INT, w INT, KEY pid (pid), UNIQUE KEY code (code), KEY up (up), KEY w (w),"+
					" CONSTRAINT f1 FOREIGN KEY (pid) REFERENCES p (id), CONSTRAINT f2 FOREIGN KEY (up) REFERENCES t (id))",
				"CREATE TABLE c (id INT PRIMARY KEY, code INT, CONSTRAINT f3 FOREIGN KEY (code) REFERENCES t (code))")
			alter, err := ddl.Parse("ALTER TABLE " + schema.Name{Schema: b.schema, Table: "t"}.Quoted() + " " + clauses)
			if err != nil {
				b.Fatal(err)
			}
			server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
			p, planned := planning.Make(b.ctx(), server, alter, planning.Options{Config: b.cfg, Settings: b.settings})
			if b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()") != "3" {
				b.Errorf("%s: the plan has left tables", clauses)
			}
			var refused *plan.Refused
			_, own := b.db.ExecContext(b.ctx(), "ALTER TABLE t "+clauses)
			switch {
			case planned != nil && !errors.As(planned, &refused):
				b.Errorf("%s: %v", clauses, planned)
			case own != nil && planned == nil && p.Choice.Method != plan.MethodShadow:
				b.Errorf("%s: the plan chooses %s, and the server refuses: %v", clauses, p.Choice.Method, own)
			case own == nil && planned != nil:
				b.Errorf("%s: the server does it, and the plan refuses: %v", clauses, planned)
			}
			b.exec("DROP TABLE c", "DROP TABLE t", "DROP TABLE p")
		}
	})
}
