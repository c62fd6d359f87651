package operator

import (
	"errors"
	"fmt"
	"testing"

	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestWorkersLeaveConnectionsOfTheAccount: the connections that an account has for other purposes are not
// free for workers, also if the server does not show which ones are ours (MariaDB, by default).
func TestWorkersLeaveConnectionsOfTheAccount(t *testing.T) {
	t.Parallel()
	for _, version := range mysqltest.InTurn(t, "mariadb-11.8", "mariadb-10.11", "5.7", "9.7") {
		t.Run(version, func(t *testing.T) {
			const limit, others = 20, 12
			server := mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{"performance_schema": "OFF"}})
			db, _ := mysqltest.Database(t, server)
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf("CREATE USER few WITH MAX_USER_CONNECTIONS %d", limit)); err != nil {
				t.Fatal(err)
			}
			pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: "tcp", Address: server.Address, User: "few"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			for range others {
				session, err := pool.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
			}
			c, err := connections(t.Context(), pool.DB())
			if err != nil {
				t.Fatal(err)
			}
			if room := roomIn(c, 0); room < 1 || room > (limit-others)/2 {
				t.Errorf("%+v: room for %d workers, want at most half of %d", c, room, limit-others)
			}
			if err := roomForWorkers(t.Context(), pool.DB(), limit-others); !errors.Is(err, errFewConnections) {
				t.Errorf("%d more workers may be named: %v", limit-others, err)
			}
			if err := roomForWorkers(t.Context(), pool.DB(), 1); err != nil {
				t.Errorf("one more worker may not be named: %v", err)
			}
		})
	}
}

// TestWorkersLeaveConnections: workers may take half of the connections that others have left, of the
// server and of the account, and what they already have is not taken from the rest again.
func TestWorkersLeaveConnections(t *testing.T) {
	for _, c := range []struct {
		connections plan.Connections
		workers     int
		want        int
	}{
		{plan.Connections{Most: 151, Open: 51}, 0, 50},
		{plan.Connections{Most: 151, Open: 71}, 20, 50},
		{plan.Connections{Most: 151, Open: 101}, 50, 50},
		{plan.Connections{Most: 151, Open: 151}, 50, 25},
		{plan.Connections{Most: 151, Open: 151}, 3, 1},
		{plan.Connections{Most: 5000, Open: 100, OfAccount: 50}, 10, 25},
		{plan.Connections{Most: 5000, Open: 100, OfAccount: 50, Ours: 20, Others: 20}, 10, 10},
		{plan.Connections{Most: 100, Open: 90, OfAccount: 50, Ours: 20, Others: 0}, 10, 10},
	} {
		if got := roomIn(c.connections, c.workers); got != c.want {
			t.Errorf("%+v and %d workers: room for %d, want %d", c.connections, c.workers, got, c.want)
		}
	}
}

// TestWorkersOfSettings: a number that is named holds. Otherwise it is found, but not if the row copy must
// rest for a share of its time.
func TestWorkersOfSettings(t *testing.T) {
	workers, _ := SettingOf("workers")
	s := CommandLineDefaults()
	if w := s.Workers(); w.First != 3 || w.Most != 64 || workers.Get(s) != "auto" {
		t.Errorf("by default there are %+v workers, %s", w, workers.Get(s))
	}
	s.Rest = 0.5
	if w := s.Workers(); w.First != 3 || w.Most != 3 {
		t.Errorf("with half of the time there are %+v workers", w)
	}
	if err := workers.Set(&s, "7"); err != nil || s.Workers().First != 7 || s.Workers().Most != 7 || workers.Get(s) != "7" {
		t.Errorf("of seven there are %+v (%v)", s.Workers(), err)
	}
	if err := workers.Set(&s, "auto"); err != nil || workers.Get(s) != "auto" {
		t.Errorf("auto is read as %s (%v)", workers.Get(s), err)
	}
}
