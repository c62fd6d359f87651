package migration_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
)

// summerTime makes the zone Midstream/Summer, in which an hour of October occurs twice and an hour
// of March not at all, as in Berlin in 2020.
var summerTime = []string{
	"INSERT INTO mysql.time_zone (use_leap_seconds) VALUES ('N')",
	"SET @zone = LAST_INSERT_ID()",
	"INSERT INTO mysql.time_zone_name (name, time_zone_id) VALUES ('Midstream/Summer', @zone)",
	"INSERT INTO mysql.time_zone_transition_type (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation)" +
		" VALUES (@zone, 0, 3600, 0, 'CET'), (@zone, 1, 7200, 1, 'CEST')",
	"INSERT INTO mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id)" +
		" VALUES (@zone, 1585443600, 1), (@zone, 1603587600, 0)",
}

// inZone runs a test on servers whose time zone is not UTC, some of which know zones by name.
func inZone(t *testing.T, zone string, test func(b *bench)) {
	onEachAlone(t, func(b *bench) {
		if zone == "Midstream/Summer" && b.value("SELECT COUNT(*) FROM mysql.time_zone_name WHERE name = 'Midstream/Summer'") == "0" {
			conn := b.conn()
			for _, s := range summerTime {
				if _, err := conn.ExecContext(b.ctx(), s); err != nil {
					b.Fatalf("%s: %v", s, err)
				}
			}
		}
		b.exec("SET GLOBAL time_zone = '" + zone + "'")
		b.Cleanup(func() { b.exec("SET GLOBAL time_zone = SYSTEM") })
		b.db.SetMaxIdleConns(0) // connections have the zone from their start
		test(b)
	})
}

// zoneCases have rows that are written in UTC.
var zoneCases = []typeCase{
	{
		name: "times",
		utc:  true,
		columns: "id INT PRIMARY KEY, a TIMESTAMP NULL, b DATETIME NULL, c TIMESTAMP(3) NULL, d TIMESTAMP(6) NULL, e DATE, f TIMESTAMP NULL, g VARCHAR(30), " +
			"h DATETIME(2)",
		rows: []string{
			"1, '2020-10-25 02:30:00', '2020-10-25 02:30:00', '2020-06-01 12:00:00.001', '2020-01-01 00:00:00.000001', '2020-01-01', '2020-07-01', '2020-06-01 12:00:00', '2020-03-29 03:00:00.01'",
			"2, '1970-01-02 00:00:01', '1970-01-02 00:00:01', '2038-01-18 03:14:07.999', '2020-10-25 03:00:00', '1970-01-02', '0000-00-00 00:00:00', '2020-01-01', '2020-10-25 03:00:00.99'",
			"3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
			"4, '2020-10-25 00:30:00', '2020-10-25 02:30:00', '2020-10-25 01:30:00', '2020-10-25 00:30:00.000001', '2020-10-25', '2020-10-25 01:30:00', '2020-10-25 02:30:00', '2020-10-25 01:30:00.5'",
		},
		alter: "MODIFY a DATETIME, MODIFY b TIMESTAMP NULL, MODIFY c VARCHAR(30), MODIFY d DATE, MODIFY e TIMESTAMP NULL, MODIFY f TIME, MODIFY g TIMESTAMP NULL, " +
			"MODIFY h TIMESTAMP(1) NULL, ADD COLUMN z TIMESTAMP NULL",
	},
	{
		name:    "moments that are the same by the clock, in the key",
		utc:     true,
		columns: "a TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00', v INT, PRIMARY KEY (a)",
		rows: []string{
			"'2020-10-25 00:30:00', 1",
			"'2020-10-25 01:30:00', 2",
			"'2020-10-24 23:30:00', 3",
			"'2020-03-29 01:00:00', 4",
			"'2020-03-29 00:59:59', 5",
		},
		alter: "ADD COLUMN z INT",
	},
}

// TestTimeZones: on a server that is not in UTC, TIMESTAMP and DATETIME are converted as by the
// server's own ALTER: in the server's zone, whatever the zone of the writing session.
func TestTimeZones(t *testing.T) {
	mysqltest.Seldom(t)
	for zone, ways := range map[string][]way{"+05:30": {byLater}, "Midstream/Summer": ways} {
		for _, c := range zoneCases {
			for _, w := range ways {
				t.Run(zone+"/"+c.name+"/"+string(w), func(t *testing.T) {
					inZone(t, zone, func(b *bench) { b.sameAsNative(c, w) })
				})
			}
		}
	}
}

// TestTimestampKeyIsNotConverted: a key that must be read in UTC, and a conversion that needs the
// server's zone, exclude each other.
func TestTimestampKeyIsNotConverted(t *testing.T) {
	inZone(t, "+05:30", func(b *bench) {
		b.exec("CREATE TABLE " + b.schema + ".t (a TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00', b TIMESTAMP NULL, PRIMARY KEY (a))")
		for _, clauses := range []string{"MODIFY b DATETIME", "MODIFY a DATETIME"} {
			_, err := b.migrate(b.ctx(), clauses, func(event.Event) {})
			if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), "TIMESTAMP") {
				b.Errorf("%s: %v", clauses, err)
			}
		}
	})
}
