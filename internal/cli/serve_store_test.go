package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/queue"
)

// TestServeWaitsForAFullServer: if the server has no connection left for the account (1226), serve
// opens its queue later, and a change begins later. Neither fails.
func TestServeWaitsForAFullServer(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	execute := executing(t, q.i, q.database())
	account := "'store_" + q.database()[len(q.database())-8:] + "'@'%'"
	execute(
		"CREATE USER "+account+" IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO "+account,
		"REVOKE SUPER, CONNECTION_ADMIN ON *.* FROM "+account,
	)
	t.Cleanup(func() { execute("DROP TABLE IF EXISTS midstream_service", "DROP USER "+account) })
	path := filepath.Join(q.home, "main.cnf")
	text, err := os.ReadFile(path)
	if err == nil {
		text = []byte(
			strings.ReplaceAll(
				string(text), "user=", "loose-was=",
			) + "user=" + strings.Trim(
				strings.TrimSuffix(account, "@'%'"), "'",
			) + "\npassword=secret\n",
		)
		err = os.WriteFile(path, text, 0o600)
	}
	pool, failed := dbconn.Open(
		t.Context(),
		dbconn.Config{
			Network:  q.i.Network,
			Address:  q.i.Address,
			User:     strings.Trim(strings.TrimSuffix(account, "@'%'"), "'"),
			Password: "secret",
		},
		nil,
	)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	closed := false
	free := func() {
		if !closed {
			pool.Close()
		}
		closed = true
	}
	defer free()
	execute("ALTER USER " + account + " WITH MAX_USER_CONNECTIONS 1") // the pool has it
	q.serveLater("--store=main/" + q.database())
	q.daemon.await(&q.daemon.stdout, "cannot open the queue yet: ")
	contains(t, q.daemon.stdout.String(), "1226")
	free()
	execute("ALTER USER " + account + " WITH MAX_USER_CONNECTIONS 2") // enough for the store only
	q.opens()
	q.submit("a", q.name+" ADD COLUMN c INT", "--option=drop-old")
	q.await("a second try", func() bool { return strings.Count(q.daemon.stdout.String(), "1226") > 2 })
	if c := q.at("a"); c.State == queue.StateFailed || c.Ended != nil {
		t.Errorf("%+v", c)
	}
	execute("ALTER USER " + account + " WITH MAX_USER_CONNECTIONS 0")
	q.becomes("a", queue.StateDone)
	q.daemon.interrupt()
	q.daemon.exit()
}
