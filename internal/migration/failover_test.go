package migration_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"midstream/internal/event"
	"midstream/internal/mysqltest"
	"midstream/internal/sandbox"
)

// TestL5_Failover: the server of a run that was stopped is gone, and a replica has taken its
// place, with what the run had made. It is begun anew there, and says why.
func TestL5_Failover(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { failover(t, version) })
	}
}

func failover(t *testing.T, version string) {
	t.Parallel()
	settings := func(id string) map[string]string {
		s := map[string]string{"server_id": id, "log_replica_updates": "ON", "gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
		if version == "8.0" {
			delete(s, "log_replica_updates")
			s["log_slave_updates"] = "ON"
		}
		return s
	}
	primary := mysqltest.Own(t, version, sandbox.Options{Settings: settings("11")})
	replica := mysqltest.Own(t, version, sandbox.Options{Settings: settings("12")})
	b := on(t, version, primary)
	name := b.schema
	other := &bench{T: t, version: version, server: replica, address: replica.Address, db: replica.Open(t, ""), schema: name, told: newTold()}
	other.replicate(primary)
	b.numbered(9999)
	writer := b.writer(b.db)
	c := b.child("ADD COLUMN added INT", "", nil, "--chunk-time=10ms", "--checkpoint=20ms", "--workers=1")
	c.await(phaseLine(event.PhaseCopy))
	time.Sleep(300 * time.Millisecond)
	c.kill()
	c.wait()
	writer()
	other.follow(b, "all")
	other.exec("STOP " + other.word("REPLICA"))
	other.exec("RESET " + other.word("REPLICA") + " ALL")

	again := other.child("ADD COLUMN added INT", "", nil)
	again.mustEnd()
	if !again.heard("begun anew: it ran on the server") {
		again.log("note")
		t.Error("it did not say that it begins anew, and why")
	}
	other.equal()
	other.exec("DROP DATABASE " + name)
	b.exec("DROP TABLE IF EXISTS "+name+".t_shadow", "DROP TABLE IF EXISTS "+name+".t_midstream")
}

// word is the server's word for a replica.
func (b *bench) word(word string) string {
	if b.version == "8.0" {
		return strings.NewReplacer("REPLICA", "SLAVE", "SOURCE", "MASTER").Replace(word)
	}
	return word
}

// replicate has the server follow another one from its very beginning.
func (b *bench) replicate(primary *mysqltest.Instance) {
	b.Helper()
	host, port, _ := strings.Cut(primary.Address, ":")
	s := "SOURCE_HOST='" + host + "', SOURCE_PORT=" + port + ", SOURCE_USER='" + primary.User + "', SOURCE_PASSWORD='" + primary.Password + "', SOURCE_AUTO_POSITION=1"
	statement := "CHANGE REPLICATION SOURCE TO " + s + ", GET_SOURCE_PUBLIC_KEY=1"
	if b.version == "8.0" {
		statement = "CHANGE MASTER TO " + b.word(s) + ", GET_MASTER_PUBLIC_KEY=1"
	}
	b.exec(statement, "START "+b.word("REPLICA"))
}

// follow waits until the server has what its primary has.
func (b *bench) follow(primary *bench, mark string) {
	b.Helper()
	primary.exec("CREATE TABLE " + primary.schema + ".mark_" + mark + " (a INT)")
	deadline := time.Now().Add(time.Minute)
	for {
		var n int
		err := b.db.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ?", "mark_"+mark).Scan(&n)
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the replica does not follow (%v): %s", err, b.replication())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// replication tells why a replica stands still.
func (b *bench) replication() string {
	var text sql.NullString
	b.db.QueryRow("SELECT CONCAT_WS(' / ', (SELECT GROUP_CONCAT(last_error_message) FROM performance_schema.replication_connection_status)," +
		" (SELECT GROUP_CONCAT(last_error_message) FROM performance_schema.replication_applier_status_by_worker))").Scan(&text)
	return text.String
}
