package binlog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestPassedOver: of transactions in the given set the reader returns only their ends, whatever
// they did. It returns everything of the others.
func TestPassedOver(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "mariadb-10.11") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{"gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
			if version == "mariadb-10.11" { // it always has GTIDs
				settings = nil
			}
			b := setupOn(t, mysqltest.Own(t, version, sandbox.Options{Settings: settings}))
			from := b.position()
			xid := "'passed over'"
			work := func(ids ...int) {
				for _, id := range ids {
					b.exec(fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", id))
				}
			}
			b.exec("CREATE TABLE t (id INT PRIMARY KEY, gone INT)") // not the watched table's shape
			work(1, 2)
			b.exec("ALTER TABLE t DROP COLUMN gone")
			b.try("SET binlog_transaction_compression=ON")
			work(3)
			b.try("SET binlog_transaction_compression=OFF")
			tagged := b.try("SET gtid_next = 'automatic:tag'")
			work(4)
			b.try("SET gtid_next = 'automatic'")
			b.exec("XA START " + xid)
			work(5)
			b.exec("XA END " + xid)
			b.exec("XA PREPARE " + xid)
			b.exec("XA COMMIT " + xid)
			var executed string
			b.row("SELECT /*!50700 @@GLOBAL.gtid_executed *//*M! @@GLOBAL.gtid_binlog_state */", &executed)
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
			b.try("SET gtid_next = 'automatic'")
			b.exec("ALTER TABLE t COMMENT 'x'")

			reader := NewReader(b.account(), []Watch{b.watch("t", "id")}, passed)
			b.expect(b.readBy(reader, from), "0:+[[6]]; commit\n0:+[[7]]; commit\nALTER TABLE t COMMENT 'x'; commit")
			if tagged != (version == "9.7") {
				t.Errorf("tags are known: %t", tagged)
			}
		})
	}
}

// TestGTIDs: sets grow by runs, distinguish tags, and are spelt as the server spells them.
func TestGTIDs(t *testing.T) {
	source := uuid.UUID{1}
	var set GTIDs
	if set.String() != "" || set.Has(GTID{Source: source, Number: 1}) {
		t.Error("the empty set is not empty")
	}
	one, two := GTID{Source: source, Number: 1}, GTID{Source: source, Number: 7, Tag: "tag"}
	set.Add(one, 3)
	set.Add(two, 1)
	set.Add(GTID{Source: source, Number: 4}, 2)
	if got := set.String(); got != source.String()+":1-5:tag:7" {
		t.Errorf("the set is %s", got)
	}
	for number, want := range map[int64]bool{0: false, 1: true, 5: true, 6: false, 7: false} {
		if set.Has(GTID{Source: source, Number: number}) != want {
			t.Errorf("Has(%d) is %t", number, !want)
		}
	}
	if !set.Has(two) {
		t.Error("the tagged one is missing")
	}
	clone := set.Clone()
	clone.Add(GTID{Source: source, Number: 6}, 1)
	if set.Has(GTID{Source: source, Number: 6}) {
		t.Error("a clone shares its intervals")
	}
	for _, text := range []string{"no set", "0-1", "0-1-x", "0-1-2,", "0-4294967296-1"} {
		if set, err := ParseGTIDs(text); err == nil {
			t.Errorf("%q is read as %s", text, set.String())
		}
	}
	for _, c := range []struct {
		set, of string
		in      bool
	}{
		{"", "", true}, {"", source.String() + ":1", true}, {source.String() + ":1", "", false}, {source.String() + ":2-3", source.String() + ":1-5", true},
		{"0-1-7", "0-1-7", true}, {"0-1-7", "0-2-8,0-1-7", true}, {"0-1-7,0-2-8", "0-1-7", false}, {"0-1-8", "0-1-7", false}, {"0-1-7", "1-1-7", false},
		{"", "0-1-7", true}, {"0-1-7", "", false}, {"0-1-7", source.String() + ":1-9", false},
	} {
		a, err := ParseGTIDs(c.set)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseGTIDs(c.of)
		if err != nil {
			t.Fatal(err)
		}
		if a.In(&b) != c.in {
			t.Errorf("%q in %q: %t", c.set, c.of, !c.in)
		}
	}
}

// TestGTIDsOfMariaDB: a set with a transaction of an origin includes the earlier transactions of
// that origin.
func TestGTIDsOfMariaDB(t *testing.T) {
	set, err := ParseGTIDs("1-2-9,0-1-7")
	if err != nil {
		t.Fatal(err)
	}
	clone := set.Clone()
	set.Add(GTID{Origin: Origin{Server: 1}, Number: 9}, 2)
	set.Add(GTID{Origin: Origin{Server: 3}, Number: 8}, 1)
	if got := set.String(); got != "0-1-10,0-3-8,1-2-9" {
		t.Errorf("the set is %s", got)
	}
	if got := clone.String(); got != "0-1-7,1-2-9" {
		t.Errorf("the clone is %s", got)
	}
	for number, want := range map[int64]bool{8: true, 10: true, 11: false} {
		if set.Has(GTID{Origin: Origin{Server: 1}, Number: number}) != want {
			t.Errorf("Has(%d) is %t", number, !want)
		}
	}
}
