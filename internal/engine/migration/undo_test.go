package migration_test

import (
	"context"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/ledger"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// undo takes back the last change of table t.
func (b *bench) undo(ctx context.Context, how planning.Undo, listeners ...event.Listener) (migration.Result, error) {
	b.Helper()
	pool, err := b.open(ctx)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	name := schema.Name{Schema: b.schema, Table: "t"}
	server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
	options := planning.Options{Undo: &how, Config: b.cfg, Settings: b.settings, FactsOnly: true}
	p, err := planning.Make(b.ctx(), server, &ddl.Alter{Table: name}, options)
	if err != nil {
		return migration.Result{}, err
	}
	return migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), event.Tee(append(listeners, b.told.listen)...)).Run(ctx)
}

// mustUndo is undo for tests that expect it to succeed.
func (b *bench) mustUndo(how planning.Undo, listeners ...event.Listener) migration.Result {
	b.Helper()
	result, err := b.undo(b.ctx(), how, listeners...)
	if err != nil {
		b.Fatalf("undo: %v", err)
	}
	return result
}

// TestU1_NoWriteIsLostByUndoAndRedo: writers work through a change, its undo and the redo.
func TestU1_NoWriteIsLostByUndoAndRedo(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			l := b.ledger(ledger.Int(), 5000, ledger.Options{})
			b.cfg.RowCopy.MaxRows = 500
			b.cfg.Undo = time.Hour
			before := b.value("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns" +
				" WHERE table_schema = '" + b.schema + "' AND table_name = 't'")
			b.start(l)
			b.mustMigrate(alter)
			for _, added := range []string{"", ",added"} {
				time.Sleep(300 * time.Millisecond)
				b.mustUndo(planning.Undo{Cold: cold})
				if now := b.value("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns" +
					" WHERE table_schema = '" + b.schema + "' AND table_name = 't'"); now != before+added {
					b.Errorf("columns are %s, and were %s", now, before+added)
				}
			}
			b.mustMatchLedger(l)
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_old", "DROP TABLE IF EXISTS "+b.schema+".t_undo")
		}
	})
}
