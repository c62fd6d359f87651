package binlog

import (
	"fmt"
	"testing"
)

// TestU5_UpdatesOfKeysArePaired: After tells which tuple follows which, among rows whose key stays.
func TestU5_UpdatesOfKeysArePaired(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		b.exec("CREATE TABLE t (id INT, name VARCHAR(9) NOT NULL, v INT, PRIMARY KEY (id, name))")
		for _, image := range []string{"FULL", "MINIMAL", "NOBLOB"} {
			b.exec("SET binlog_row_image = " + image)
			b.exec("DELETE FROM t")
			groups := b.record([]Watch{b.watch("t", "id", "name")}, func() {
				b.exec("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)")
				b.exec("UPDATE t SET v = v + 1")
				b.exec("UPDATE t SET v = v + 1, id = IF(id IN (1, 3), id + 10, id) ORDER BY id")
				b.exec("UPDATE t SET name = UPPER(name) ORDER BY name")
				b.exec("DELETE FROM t")
			})
			var after []string
			for _, g := range groups {
				for _, r := range g.rows {
					after = append(after, fmt.Sprint(len(r.Tuples), r.After))
				}
			}
			if got, want := fmt.Sprint(after), "[4 [] 4 [] 6 [1 4] 8 [1 3 5 7] 4 []]"; got != want {
				t.Errorf("%s: got %s, want %s", image, got, want)
			}
		}
	})
}
