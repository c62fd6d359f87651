package ledger

import (
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestCompareFindsDamage changes the table behind the ledger's back.
func TestCompareFindsDamage(t *testing.T) {
	cases := []struct {
		name    string
		profile Profile
		damage  string
		want    Proof
		says    string
	}{
		{"one value", Orders(), "UPDATE %s SET amount = amount + 0.01 WHERE id = 4", Proof{Differing: 1}, "`amount`"},
		{"letter case", Orders(), "UPDATE %s SET customer = REPLACE(customer, 'n', 'N') WHERE customer LIKE BINARY '%%n%%' LIMIT 1",
			Proof{Differing: 1}, "`customer`"},
		{"trailing space", Orders(), "UPDATE %s SET city = CONCAT(city, ' ') WHERE city = 'Berlin' LIMIT 1", Proof{Differing: 1}, "`city`"},
		{"a trailing zero byte", Orders(), "UPDATE %s SET token = CONCAT(token, x'00') WHERE id = 9", Proof{Differing: 1}, "`token`"},
		{"null for empty", Orders(), "UPDATE %s SET city = NULL WHERE city = '' LIMIT 1", Proof{Differing: 1}, "NULL instead of \"\""},
		{"empty for null", Orders(), "UPDATE %s SET city = '' WHERE city IS NULL LIMIT 1", Proof{Differing: 1}, "\"\" instead of NULL"},
		{
			"one microsecond", Orders(), "UPDATE %s SET created = created + INTERVAL 1 MICROSECOND WHERE id = 7",
			Proof{Differing: 1}, "`created`",
		},
		{"one bit", Orders(), "UPDATE %s SET options = options ^ 1 WHERE id = 7", Proof{Differing: 1}, "`options`"},
		{"JSON type", Orders(), `UPDATE %s SET details = JSON_SET(details, '$.price', '1') WHERE details IS NOT NULL LIMIT 1`,
			Proof{Differing: 1}, "`details`"},
		{"a row gone", Orders(), "DELETE FROM %s WHERE id = 11", Proof{Missing: 1}, "no row `id` = 11"},
		{
			"a row too many", Int(),
			"INSERT INTO %[1]s SELECT 100000, 77, amount, name, token, changed, version, remark, details FROM %[1]s LIMIT 1",
			Proof{Extra: 1}, "extra row `id` = \"100000\"",
		},
		{
			"a free slot filled", Int(),
			"INSERT INTO %[1]s SELECT 501, 77, amount, name, token, changed, version, remark, details FROM %[1]s LIMIT 1",
			Proof{Extra: 1}, "extra row `id` = \"501\"",
		},
		{
			"a row twice", Varbinary(),
			"INSERT INTO %[1]s SELECT slot, 'x', 77, amount, name, token, changed, version, remark, details FROM %[1]s WHERE slot = 3",
			Proof{Extra: 1}, "extra row `slot` = \"3\"",
		},
		{
			"an equal key", StringAI(), "UPDATE %s SET word = UPPER(word) WHERE BINARY word <> UPPER(word) LIMIT 1",
			Proof{Differing: 1}, "`word`",
		},
		{"a padded key", StringPad(), "UPDATE %s SET word = CONCAT(word, ' ') LIMIT 1", Proof{Differing: 1}, "`word`"},
		{"two unique values exchanged", ThreeUnique(), "UPDATE %s SET badge = CASE id WHEN 1 THEN 0 ELSE 1 END WHERE id IN (1, 2)",
			Proof{Differing: 2}, "`badge`"},
	}
	s := mysqltest.Server(t, "9.7")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := setup(t, s, c.profile, 500, Options{})
			run(t, l, c.damage)
			got, err := l.Compare(t.Context())
			must(t, err)
			if got.Differing != c.want.Differing || got.Missing != c.want.Missing || got.Extra != c.want.Extra || got.Equal() {
				t.Errorf("got %v", got)
			}
			if !strings.Contains(got.String(), c.says) {
				t.Errorf("%v\ndoes not say %s", got, c.says)
			}
		})
	}
}

// TestWriterNoticesDamage: a lost row is a failure of the writer that comes upon it.
func TestWriterNoticesDamage(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 100, Options{HotShare: -1})
	must(t, l.Start(t.Context()))
	run(t, l, "DELETE FROM %s")
	<-l.Done()
	if err := l.Stop(); err == nil || !strings.Contains(err.Error(), "rows affected instead of") {
		t.Fatalf("stopped with %v", err)
	}
}

// TestWriterNoticesUnexplainedDuplicate: a value that no row has by the ledger.
func TestWriterNoticesUnexplainedDuplicate(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 100, Options{HotShare: -1, Writers: -1})
	slot, err := l.Held(100, false)
	must(t, err)
	if slot != 100 {
		t.Fatalf("first free slot is %d", slot)
	}
	run(t, l, "INSERT INTO %[1]s SELECT 101, 77, amount, name, token, changed, version, remark, details FROM %[1]s LIMIT 1")
	tx, err := l.Begin(t.Context())
	must(t, err)
	defer tx.Rollback()
	err = tx.settle(tx.Insert(slot))
	if err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Fatalf("got %v", err)
	}
}
