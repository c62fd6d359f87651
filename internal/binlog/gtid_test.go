package binlog

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/mysqltest"
	"midstream/internal/sandbox"
)

// TestPassedOver: of transactions in the given set nothing is handed out but where they end,
// whatever they did, and all of the others.
func TestPassedOver(t *testing.T) {
	for _, version := range []string{"9.7", "8.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{
				"gtid_mode": "ON", "enforce_gtid_consistency": "ON"}}))
			from := b.position()
			xid := "'passed over'"
			work := func(ids ...int) {
				for _, id := range ids {
					b.exec(fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", id))
				}
			}
			b.exec("CREATE TABLE t (id INT PRIMARY KEY, gone INT)") // another shape than the watch's
			work(1, 2)
			b.exec("ALTER TABLE t DROP COLUMN gone")
			b.try("SET binlog_transaction_compression=ON")
			work(3)
			b.try("SET binlog_transaction_compression=OFF")
			tagged := b.try("SET gtid_next = 'automatic:tag'")
			work(4)
			b.exec("SET gtid_next = 'automatic'")
			b.exec("XA START " + xid)
			work(5)
			b.exec("XA END " + xid)
			b.exec("XA PREPARE " + xid)
			b.exec("XA COMMIT " + xid)
			var executed string
			b.row("SELECT @@GLOBAL.gtid_executed", &executed)
			passed, err := ParseGTIDs(executed)
			if err != nil {
				t.Fatal(err)
			}
			if back := passed.String(); back != strings.ReplaceAll(executed, "\n", "") {
				t.Errorf("%q is read as %q", executed, back)
			}
			work(6)
			b.try("SET gtid_next = 'automatic:tag'")
			work(7)
			b.exec("SET gtid_next = 'automatic'")
			b.exec("ALTER TABLE t COMMENT 'x'")

			reader := NewReader(b.account(), []Watch{b.watch("t", "id")}, passed)
			b.expect(b.readBy(reader, from), "0:+[[6]]; commit\n0:+[[7]]; commit\nALTER TABLE t COMMENT 'x'; commit")
			if tagged != (version == "9.7") {
				t.Errorf("tags are known: %t", tagged)
			}
		})
	}
}

// TestGTIDs: sets grow by runs, keep tags apart, and are spelt as the server spells them.
func TestGTIDs(t *testing.T) {
	var set GTIDs
	if set.String() != "" || set.Has(GTID{Number: 1}) {
		t.Error("the empty set is not empty")
	}
	one, two := GTID{Number: 1}, GTID{Number: 7, Tag: "tag"}
	set.Add(one, 3)
	set.Add(two, 1)
	set.Add(GTID{Number: 4}, 2)
	const uuid = "00000000-0000-0000-0000-000000000000"
	if got := set.String(); got != uuid+":1-5:tag:7" {
		t.Errorf("the set is %s", got)
	}
	for number, want := range map[int64]bool{0: false, 1: true, 5: true, 6: false, 7: false} {
		if set.Has(GTID{Number: number}) != want {
			t.Errorf("Has(%d) is %t", number, !want)
		}
	}
	if !set.Has(two) {
		t.Error("the tagged one is missing")
	}
	clone := set.Clone()
	clone.Add(GTID{Number: 6}, 1)
	if set.Has(GTID{Number: 6}) {
		t.Error("a clone shares its intervals")
	}
	if _, err := ParseGTIDs("no set"); err == nil {
		t.Error("nonsense is read")
	}
}
