package migration_test

import (
	"testing"

	"midstream/internal/lab/fault"
)

// TestL7_SwapWhileTheNextRunLooks: the RENAME of a killed run is still on its way, and is done
// while the same command runs again. The command finds the swap, and does not alter the table
// twice.
func TestL7_SwapWhileTheNextRunLooks(t *testing.T) {
	sideBySide(t)
	for name, when := range map[string]fault.Rule{
		"before the plan":              {At: "SHOW GRANTS"},
		"after the tables were listed": {After: "LIKE 'Uptime'", At: "FOR UPDATE"},
		"while its sessions are ended": {After: "LIKE 'Uptime'", At: "attr_name = 'midstream_run'"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(1000)
				b.killedAt("RENAME TABLE `"+b.schema+"`", "ADD INDEX (v)")
				when.Call = func() {
					b.exec("DROP TABLE IF EXISTS "+b.schema+".t_old", // the sentinel
						"RENAME TABLE "+b.schema+".t TO "+b.schema+".t_old, "+b.schema+".t_shadow TO "+b.schema+".t")
				}
				w := b.wire(when)
				again := b.child("ADD INDEX (v)", "", nil)
				again.mustEnd()
				if !bent(w) || !again.heard("stopped after its swap") {
					b.Error("it did not report that the swap had happened")
				}
				if got := b.indexes(); got != "1" {
					b.Errorf("%s indexes were added", got)
				}
				if got := b.tables(); got != "digits,t,t_old" {
					b.Errorf("tables are %s", got)
				}
			})
		})
	}
}
