package ledger

import (
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
)

// TestTableChangesMeanwhile changes the table under the writers, as its owner would.
// NB: by COPY. An INPLACE rebuild of a table with a unique key fails under this load:
// it reports duplicates of values that were handed from one row to another.
func TestTableChangesMeanwhile(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		l := setup(t, s, Orders(), 1000, Options{
			Renamed: map[string]string{"customer": "buyer", "id": "order_id"},
			ReadAs:  map[string]string{"amount": "CAST(amount AS DECIMAL(12,2))"},
		})
		must(t, l.Start(t.Context()))
		for _, change := range []string{
			"ALTER TABLE %s ADD COLUMN note VARCHAR(40), ADD INDEX (note), ALGORITHM=COPY",
			"ALTER TABLE %s DROP COLUMN legacy, ALGORITHM=COPY",
			"ALTER TABLE %s MODIFY amount DECIMAL(20,4) NOT NULL",
			"ALTER TABLE %s CHANGE customer buyer VARCHAR(80) NOT NULL AFTER city, CHANGE id order_id BIGINT NOT NULL, ALGORITHM=COPY",
		} {
			time.Sleep(short / 5)
			run(t, l, change)
		}
		await(t, l, short/5, func(s Stats) bool { return s.Errors[errUnknownColumn] > 0 })
		stopAndCompare(t, l)
	})
}

// TestTableMissingForAMoment: the writers live with 1146, and count it.
func TestTableMissingForAMoment(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 1000, Options{})
	must(t, l.Start(t.Context()))
	run(t, l, "RENAME TABLE %[1]s TO t_away")
	await(t, l, 0, func(s Stats) bool { return s.Errors[errNoSuchTable] > 0 })
	run(t, l, "RENAME TABLE t_away TO %s")
	l.ResetStats()
	await(t, l, short/4, func(s Stats) bool { return s.Transactions > 0 })
	stopAndCompare(t, l)
}
