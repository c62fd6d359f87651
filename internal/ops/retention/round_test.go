package retention

import (
	"testing"

	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// TestANoteHasTheAddressOfTheServer: who reads that a drop may stall sessions drops the table at a quiet hour, from any machine.
func TestANoteHasTheAddressOfTheServer(t *testing.T) {
	var noted string
	k := &Keeper{Note: func(text string) { noted = text }, noted: map[string]string{}, seen: map[string]*sight{"x": {Quiet: enoughChecks}}}
	server := Server{Name: "main", Config: dbconn.Config{Network: "tcp", Address: "db1:3307"}}
	old := leftovers.Aside{Name: schema.NameOf("shop.orders_old"), Source: schema.NameOf("shop.orders"), Bytes: 1 << 40}
	if k.check(server, "x", old, memory{pool: 1 << 40, page: 1, hashed: true}) {
		t.Error("it would be dropped at once")
	}
	const want = "server main: shop.orders_old is kept, because its drop may stall sessions for "
	const command = "midstream cleanup --host=db1 --port=3307 --old shop.orders"
	if len(noted) < len(want)+len(command) || noted[:len(want)] != want || noted[len(noted)-len(command):] != command {
		t.Error(noted)
	}
}
