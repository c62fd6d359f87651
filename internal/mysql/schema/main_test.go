package schema_test

import (
	"testing"

	"midstream/internal/lab/mysqltest"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// releases are the servers that take turns.
var releases = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}

// onServers runs a test on one of the servers, in turn.
func onServers(t *testing.T, test func(t *testing.T, s *server)) {
	for _, release := range mysqltest.InTurn(t, releases...) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			instance := mysqltest.Server(t, release)
			db, name := mysqltest.Database(t, instance)
			test(t, &server{t: t, DB: db, database: name, instance: instance, release: release})
		})
	}
}
