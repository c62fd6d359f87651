package migration_test

import (
	"testing"
	"time"

	"midstream/internal/lab/ledger"
)

// TestReadsAreAsShortAsChunks: the comparison and the prescan read the rows in pieces that take as long
// as a chunk of the row copy. 10,000 rows of this table, which are the most of a piece, keep a processor
// busy for 160 ms in the comparison, and for 35 ms in the prescan's list of the values of a unique key.
func TestReadsAreAsShortAsChunks(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		const rows = 20_000
		l := b.ledger(ledger.Int(), rows, ledger.Options{Writers: 1})
		b.settings.RowCopy.Target = 10 * time.Millisecond
		b.start(l)
		b.mustMigrate("MODIFY code VARCHAR(40) NOT NULL")
		b.mustMatchLedger(l)
		for _, stage := range []string{"midstream_verify", "midstream_check_key"} {
			pieces := ` FROM performance_schema.events_statements_summary_by_digest
				WHERE digest_text LIKE CONCAT('INSERT INTO %', DATABASE(), '%` + stage + `%')`
			if few := b.value("SELECT SUM(sum_rows_examined) / SUM(count_star) < 5000" + pieces); few != "1" {
				b.Errorf("%s: a piece has %s rows", stage, b.value("SELECT SUM(sum_rows_examined) / SUM(count_star)"+pieces))
			}
		}
	})
}
