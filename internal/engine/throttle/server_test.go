package throttle_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/throttle"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// Each sensor of the server can be read. It is open if the bound is far away, and closed if the
// bound is near.
func TestSensorsOfTheServer(t *testing.T) {
	for _, version := range []string{"9.7", "8.0"} {
		i := mysqltest.Server(t, version)
		db, _ := mysqltest.Database(t, i)
		pool, err := dbconn.Open(
			t.Context(),
			dbconn.Config{Network: "tcp", Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password)}, nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		for name, c := range map[string]struct {
			sensor throttle.Sensor
			// want is a part of the reason why the gate is closed; "" means that it is open.
			want string
		}{
			"load":             {throttle.MaxLoad(db, []throttle.Limit{{Variable: "Threads_connected", Most: 1e6}}), ""},
			"too much":         {throttle.MaxLoad(db, []throttle.Limit{{Variable: "threads_connected", Most: 0}, {Variable: "Uptime", Most: 1e12}}), "threads_connected is "},
			"history":          {throttle.History(db, 1<<40), ""},
			"long history":     {throttle.History(db, -1), "history list"},
			"query":            {throttle.Query(pool, "mysql", "SELECT 0"), ""},
			"query of nothing": {throttle.Query(pool, "mysql", "SELECT NULL"), ""},
			"query says wait":  {throttle.Query(pool, "mysql", "SELECT 7"), "returns 7"},
		} {
			if why, err := c.sensor.Look(t.Context()); err != nil || !strings.Contains(why, c.want) || c.want == "" && why != "" {
				t.Errorf("%s, %s: %q, %v; want %q", version, name, why, err, c.want)
			}
		}
		if version == "9.7" {
			for most, closed := range map[float64]bool{2: false, -1: true} {
				if why, err := throttle.CheckpointAge(db, most).Look(t.Context()); err != nil || (why != "") != closed {
					t.Errorf("redo log, at most %g: %q, %v", most, why, err)
				}
			}
		}
		for query, want := range map[string]string{"SELECT 'abc'": "is not a number", "SELECT nope": "Unknown column", "DELETE FROM mysql.user": "READ ONLY", "": ""} {
			if err := throttle.CheckQuery(
				t.Context(),
				pool,
				"mysql",
				query,
			); (err == nil) != (want == "") ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %q: %v", version, query, err)
			}
		}
		if why, err := throttle.FlowControl(db).Look(t.Context()); err != nil || why != "" {
			t.Errorf("%s: flow control: %q, %v", version, why, err)
		}
		if err := throttle.CheckLimits(
			t.Context(),
			db,
			throttle.Limit{Variable: "Threads_flying"},
		); err == nil ||
			!strings.Contains(err.Error(), "no status variable Threads_flying") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
