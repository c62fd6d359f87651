package migration_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"midstream/internal/lab/ledger"
)

// TestL3_CommitsHeldBackBehindTheBinlog: semi-synchronous replication without a replica delays each
// commit after it is in the binlog, here for up to 30 ms. So a change is captured long before it
// can be seen. MySQL 8.0.12 comes without the plugin.
func TestL3_CommitsHeldBackBehindTheBinlog(t *testing.T) {
	b := setup(t, "9.7")
	b.exec("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
	b.Cleanup(func() { b.exec("UNINSTALL PLUGIN rpl_semi_sync_source") })
	l := b.ledger(ledger.Int(), 2000, ledger.Options{})
	b.exec("SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_source_timeout = 10000",
		"SET GLOBAL rpl_semi_sync_source_wait_no_replica = ON, GLOBAL rpl_semi_sync_source_enabled = ON")
	ctx, stop := context.WithCancel(b.ctx())
	var releasing sync.WaitGroup
	releasing.Go(func() {
		for ctx.Err() == nil { // switching it off ends the waits
			b.db.Exec("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
			b.db.Exec("SET GLOBAL rpl_semi_sync_source_enabled = ON")
			time.Sleep(30 * time.Millisecond)
		}
		b.db.Exec("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
	})
	b.Cleanup(func() {
		stop()
		releasing.Wait()
	})
	b.cfg.RowCopy.MaxRows = 200
	b.settings.Lock.Work = 2 * time.Second // our own commits are delayed too
	b.start(l)
	result := b.mustMigrate(alter)
	b.mustMatchLedger(l)
	if held := b.value(
		"SELECT variable_value > 0 FROM performance_schema.global_status WHERE variable_name = 'Rpl_semi_sync_source_no_tx'",
	); held != "1" {
		b.Error("no commit was held back")
	}
	if result.Captured == 0 {
		b.Error("no change was captured")
	}
}
