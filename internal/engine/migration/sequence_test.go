package migration_test

import (
	"strings"
	"testing"
)

// TestL6_DefaultsOfSequences: the last changes are applied under the lock, which must include the
// sequences of the new table's defaults.
func TestL6_DefaultsOfSequences(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"mariadb-10.11", "mariadb-11.8"}), func(b *bench) {
		b.exec("CREATE SEQUENCE "+b.schema+".`s``q`", "CREATE SEQUENCE "+b.schema+".other",
			"CREATE TABLE "+b.schema+".t (id BIGINT PRIMARY KEY DEFAULT NEXTVAL("+b.schema+".`s``q`), v INT, u INT)",
			"INSERT INTO "+b.schema+".t (v) VALUES (1), (2), (3)")
		stop := b.writing("INSERT INTO t (v) VALUES (4)", "UPDATE t SET v = v + 1 WHERE id = 1", "DELETE FROM t WHERE id > 3 LIMIT 1")
		b.mustMigrate("ADD COLUMN added BIGINT DEFAULT NEXTVAL(" + b.schema + ".other), ADD COLUMN uuid CHAR(36) DEFAULT UUID()")
		stop()
		if got := b.value(
			"SELECT column_default FROM information_schema.columns WHERE table_schema = '" + b.schema + "' AND table_name = 't' AND column_name = 'id'",
		); !strings.Contains(
			got, "nextval",
		) {
			b.Errorf("the default is %s", got)
		}
	})
}

// writing makes a session of the application's execute the statements continuously, until stop is
// called.
func (b *bench) writing(statements ...string) (stop func()) {
	f := b.feeder()
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-ended:
				return
			default:
				f.exec(statements...)
				rest(0)
			}
		}
	}()
	return func() { close(ended); <-over }
}
