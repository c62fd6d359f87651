package migration_test

import (
	"testing"

	"midstream/internal/engine/migration"
)

// TestFunctionalIndexes: the server does not build them in place together with others, nor in
// partitions.
func TestFunctionalIndexes(t *testing.T) {
	sideBySide(t)
	onThese(t, []string{"9.7"}, func(b *bench) {
		b.cfg.Indexes = migration.DeferYes
		for _, partitions := range []string{"", " PARTITION BY HASH(id) PARTITIONS 2"} {
			b.exec(
				"DROP TABLE IF EXISTS "+b.schema+".t, "+b.schema+".t_old",
				"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, u INT, KEY plain (u), KEY functional ((v * 2)))"+partitions,
				"INSERT INTO "+b.schema+".t (v, u) VALUES (1, 2), (3, 4), (5, 6)",
			)
			b.mustMigrate("MODIFY v BIGINT")
			b.equal()
		}
	})
}
