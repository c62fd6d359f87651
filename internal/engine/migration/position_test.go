package migration_test

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
)

// TestL6_ThePlaceOfTheSwapInTheBinlog: the run reports where its RENAME ends in the binlog, while others write there. The event that
// SHOW BINLOG EVENTS lists at that end is the RENAME.
func TestL6_ThePlaceOfTheSwapInTheBinlog(t *testing.T) {
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Orders(), 2000, ledger.Options{})
		b.start(l)
		var swap event.SwapDone
		b.mustMigrate("ADD COLUMN added INT", func(e event.Event) {
			if s, is := e.(event.SwapDone); is {
				swap = s
			}
		})
		b.mustMatchLedger(l)
		file, offset, ok := strings.Cut(swap.Position, ":")
		if !ok {
			b.Fatalf("the position is %q", swap.Position)
		}
		var from uint64
		if _, err := fmt.Sscan(offset, &from); err != nil {
			b.Fatal(err)
		}
		if !b.renamedAt(file, from) {
			b.Errorf("no RENAME ends at %s", swap.Position)
		}
		variables := "information_schema.global_variables" // of MariaDB
		if !isMariaDB(b.version) {
			variables = "performance_schema.global_variables"
		}
		if mode := b.value("SELECT IFNULL(MAX(variable_value), '') FROM " + variables + " WHERE variable_name = 'gtid_mode'"); (swap.GTID != "") != (mode == "ON" || mode == "") { // MariaDB has GTIDs, and no such variable
			b.Errorf("the GTID is %q, with gtid_mode %q", swap.GTID, mode)
		}
	})
}

// renamedAt reports whether a RENAME TABLE of the source ends at an offset of a binlog.
func (b *bench) renamedAt(file string, end uint64) bool {
	b.Helper()
	rows, err := b.db.QueryContext(b.ctx(), "SHOW BINLOG EVENTS IN '"+file+"'")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind, info string
		var at, server, last uint64
		if err := rows.Scan(&name, &at, &kind, &server, &last, &info); err != nil {
			b.Fatal(err)
		}
		if last == end {
			return strings.Contains(info, "RENAME TABLE") && strings.Contains(info, "`"+b.schema+"`.`t_shadow` TO `"+b.schema+"`.`t`")
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return false
}
