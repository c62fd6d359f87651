package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// ghostsOn runs that program's command line on the table, on a server.
func (d *drop) ghostsOn(i *mysqltest.Instance, code int, args []string, texts ...string) {
	d.t.Helper()
	database, _, _ := strings.Cut(d.name, ".")
	r := start(
		d.t,
		ghOst(d.t, i, append([]string{"--database=" + database, "--table=t", "--throttle-additional-flag-file=", "--verbose"}, args...)...),
	)
	if got := r.exit(); got != code {
		d.t.Fatalf("%s: exit code %d\n%s\n%s", args, got, &r.stdout, &r.stderr)
	}
	contains(d.t, r.stdout.String()+r.stderr.String(), texts...)
}

// TestGhostReplica: a replica is named, and the table is changed on its primary, while somebody writes there.
func TestGhostReplica(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	primary, follower := primaryAndReplica(t, "9.7", "3")
	d := beginDropInOn(t, primary, 2000)
	database, _, _ := strings.Cut(d.name, ".")
	d.ghostsOn(
		follower, 0, []string{ptAlter, "--execute"},
		"# Migrating "+primary.Address+"; inspecting "+follower.Address+"; executing on ",
		"Master found to be "+primary.Address, "# Done\n",
	)
	if got := d.tables(); got != "_t_del,t" {
		t.Errorf("tables %s", got)
	}
	executing(t, follower, "")("STOP REPLICA SQL_THREAD")
	drops := []string{"--alter=DROP INDEX added, DROP COLUMN added", "--execute", "--ok-to-drop-table", "--initially-drop-old-table"}
	r := start(t, ghOst(t, follower, append(drops, "--database="+database, "--table=t", "--throttle-additional-flag-file=")...))
	r.await(&r.stdout, "State: throttled, replication of "+follower.Address+" is stopped")
	executing(t, follower, "")("START REPLICA SQL_THREAD")
	if code := r.exit(); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	d.ghostsOn(
		primary, 0,
		append([]string{"--assume-master-host=" + primary.Address, "--allow-on-master"}, drops[1], "--alter=ADD COLUMN more INT"),
		"# Done\n",
	)
	d.ghostsOn(primary, 1, []string{"--alter=ADD COLUMN other INT"}, "--allow-on-master")
	d.refollows(follower)
	host, port, _ := strings.Cut(follower.Address, ":")
	executing(
		t, primary, "",
	)(
		"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '"+host+"', SOURCE_PORT = "+port+", SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl', "+
			"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
		"START REPLICA",
	)
	t.Cleanup(func() { executing(t, primary, "")("STOP REPLICA", "RESET REPLICA ALL") })
	ring := []string{"--alter=ADD COLUMN ring INT", "--execute", "--initially-drop-old-table"}
	d.ghostsOn(follower, 1, ring, "primaries replicate from each other")
	d.ghostsOn(follower, 1, append(ring, "--allow-master-master"), "2 take writes", "--assume-master-host")
	executing(t, follower, "")("SET GLOBAL read_only = ON")
	d.ghostsOn(follower, 0, append(ring, "--allow-master-master"), "Master found to be "+primary.Address, "# Done\n")
	if got := d.query(columns); !strings.HasSuffix(got, ",more,followed,ring") {
		t.Errorf("columns %s", got)
	}
	d.settle()
}

// refollows has a run look at a replica, and at none again, while it is at work.
func (d *drop) refollows(follower *mysqltest.Instance) {
	d.t.Helper()
	socket, file := filepath.Join(d.t.TempDir(), "s"), filepath.Join(d.t.TempDir(), "postpone")
	r := d.ghost(
		"--alter=ADD COLUMN followed INT", "--execute", "--ok-to-drop-table", "--initially-drop-old-table",
		"--serve-socket-file="+socket, "--postpone-cut-over-flag-file="+file,
		"--throttle-control-replicas="+follower.Address,
	)
	r.await(&r.stdout, "State: postponing cut-over; ETA: due")
	onReplica := executing(d.t, follower, "")
	for _, c := range [][2]string{{"throttle-control-replicas=", "\n# Migrating "}, {"throttle-control-replicas=?", "\n"}, {"throttle-control-replicas=127.0.0.1:1", "cannot reach a replica"}} {
		if got := says(d.t, "unix", socket, c[0]); !strings.HasPrefix(got, c[1]) && !strings.Contains(got, "cannot reach") {
			d.t.Errorf("%s: %s", c[0], got)
		}
	}
	onReplica("STOP REPLICA SQL_THREAD")
	if got := says(
		d.t,
		"unix",
		socket,
		"throttle-control-replicas="+follower.Address,
	); !strings.HasPrefix(
		got, follower.Address+"\n# Migrating ",
	) {
		d.t.Errorf("answer %s", got)
	}
	r.await(&r.stdout, "State: throttled, replication of "+follower.Address+" is stopped")
	onReplica("START REPLICA SQL_THREAD")
	if err := os.Remove(file); err != nil {
		d.t.Fatal(err)
	}
	if code := r.exit(); code != 0 {
		d.t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
}

// TestGhostOnReplica: the table is changed on a replica, to be compared and for good, while
// somebody writes on the primary.
func TestGhostOnReplica(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	primary, follower := primaryAndReplica(t, "9.7", "4")
	d := beginDropInOn(t, primary, 2000)
	database, _, _ := strings.Cut(d.name, ".")
	db := follower.Open(t, database)
	query := func(q string) (text string) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), q).Scan(&text); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return text
	}
	onReplica := executing(t, follower, database)
	is := func(q, want string) {
		t.Helper()
		if got := query(q); got != want {
			t.Errorf("%s: %s instead of %s", q, got, want)
		}
	}
	const tables = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"
	const running = "SELECT GROUP_CONCAT(service_state) FROM performance_schema.replication_applier_status"
	trial := []string{"--alter=ENGINE=InnoDB", "--execute", "--test-on-replica"}
	d.ghostsOn(primary, 1, trial, "replicates from no server")
	b := newHookBook(t)
	b.hook("stop-replication", "exit 9")
	d.ghostsOn(follower, 1, append(trial, "--hooks-path="+b.folder, "--hooks-hint=hint"), "gh-ost-on-stop-replication: exit status 9")
	b.were("startup validated rowcount-complete before-row-copy row-copy-complete before-cut-over failure", "false")
	is(tables, "t")
	is(running, "ON")
	d.ghostsOn(follower, 0, trial, "STOP REPLICA: done", "Ghost table is `"+database+"`.`_t_gho`", "# Done\n")
	is(tables, "_t_gho,t")
	is(running, "OFF")
	is(
		"SELECT (SELECT COUNT(*) FROM t) > 1000 AND NOT EXISTS (SELECT * FROM (SELECT * FROM t EXCEPT SELECT * FROM _t_gho) a) AND NOT EXISTS (SELECT * FROM (SELECT * FROM _t_gho EXCEPT SELECT * FROM t) b)",
		"1",
	)
	is("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '"+d.query("SELECT @@GLOBAL.gtid_executed")+"')", "")
	onReplica("START REPLICA")
	d.ghostsOn(follower, 1, trial, "_t_gho exists from an earlier test")
	d.ghostsOn(
		follower, 0, append(trial, "--initially-drop-ghost-table", "--test-on-replica-skip-replica-stop"),
		"dropped "+database+"._t_gho", "# Done\n",
	)
	is(running, "ON")
	is(tables, "_t_gho,t")
	const own = "SELECT GTID_SUBSET(CONCAT(@@server_uuid, ':1'), @@GLOBAL.gtid_executed)"
	is(own, "0")
	if code, stdout, stderr := midstream(
		t,
		append([]string{"cleanup", "--yes", database + ".t"}, flagsTo(t, follower)...)...); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	is(tables, "t")
	is(own, "0") // nothing that the primary lacks
	d.ghostsOn(follower, 0, []string{"--alter=ADD INDEX more (id)", "--execute", "--migrate-on-replica", "--ok-to-drop-table"}, "# Done\n")
	is("SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'more'", "1")
	if got := d.query(
		"SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'more'",
	); got != "0" {
		t.Error("the primary has the index too")
	}
	d.settle()
	is("SELECT WAIT_FOR_EXECUTED_GTID_SET('"+d.query("SELECT @@GLOBAL.gtid_executed")+"', 60)", "0")
	const sum = "SELECT CONCAT(COUNT(*), ' ', MAX(id)) FROM t"
	is(sum, d.query(sum))
}
