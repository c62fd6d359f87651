package migration_test

import (
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestL11_PartitionsByAnEnum: the ranges end for a partitioned table whose key is an ENUM or a SET,
// and whose rows come partition by partition.
func TestL11_PartitionsByAnEnum(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}, func(b *bench) {
		for _, key := range []string{"c ENUM('a','b','c','d','e','f','g','h') NOT NULL", "c SET('a','b','c','d') NOT NULL"} {
			b.exec("DROP TABLE IF EXISTS t, t_old")
			b.exec("CREATE TABLE t (" + key + ", v INT, PRIMARY KEY (c)) PARTITION BY KEY (c) PARTITIONS 5")
			b.exec("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8)")
			b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 1, 1
			b.mustMigrate("ADD w INT")
			if got := b.value("SELECT GROUP_CONCAT(c + 0, '=', v ORDER BY v) FROM t"); got != "1=1,2=2,3=3,4=4,5=5,6=6,7=7,8=8" {
				b.Errorf("%s: %s", key, got)
			}
		}
	})
}
