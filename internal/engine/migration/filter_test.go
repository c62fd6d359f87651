package migration_test

import (
	"fmt"
	"testing"

	"midstream/internal/engine/event"
)

// TestL11_ReplicaFiltersByDatabase: a replica that replicates only one database gets everything
// that a run does there, because the run's sessions have it as their default database. None of its
// statements fails.
func TestL11_ReplicaFiltersByDatabase(t *testing.T) {
	onAllReplicas(t, func(primary, replica *bench) {
		filter := fmt.Sprintf("CHANGE REPLICATION FILTER REPLICATE_DO_DB = (`%s`)", primary.schema)
		stop, start := "STOP REPLICA", "START REPLICA"
		if !isNew(primary.version) {
			stop, start = "STOP SLAVE", "START SLAVE"
		}
		if isMariaDB(primary.version) {
			filter = "SET GLOBAL replicate_do_db = '" + primary.schema + "'"
		}
		primary.exec(
			"CREATE TABLE "+primary.schema+".t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v))",
			"INSERT INTO "+primary.schema+".t (v) VALUES (1), (2), (3)",
		)
		replica.catchUpWith(primary)
		replica.exec(stop, filter, start)
		if _, err := primary.migrate(
			primary.ctx(),
			"ADD COLUMN w INT NOT NULL DEFAULT 7, MODIFY v BIGINT",
			func(event.Event) {},
		); err != nil {
			primary.Fatal(err)
		}
		replica.catchUpWith(primary)
		all := "SELECT CONCAT(COUNT(*), '/', SUM(w), '/', (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + primary.schema + "')) FROM " + primary.schema + ".t"
		if has, want := replica.value(all), primary.value(all); has != want {
			t.Errorf("the replica has %s, and the primary %s", has, want)
		}
	})
}
