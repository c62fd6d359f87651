package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/lab/mysqltest"
)

// TestTwoServers: a set over two real servers, with the built programs: two services, each with an agent, a worker and a
// Temporal server. The agents and the worker are killed in between.
func TestTwoServers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs two servers")
	}
	f := newFleet(t, twoCells(2)) // for their names and labels only
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "midstream"), "./cmd/midstream")
	build.Dir, build.Env = "..", append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "midstream-fleet"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.program = filepath.Join(bin, "midstream-fleet")
	databases := map[string]*sql.DB{}
	for i, version := range []string{"9.7", "mariadb-11.8"} {
		name, cell := fmt.Sprintf("s%02d", i), string(rune('a'+i))
		server := mysqltest.Server(t, version)
		db, database := mysqltest.Database(t, server)
		mysqltest.Exec(t, db, "CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n INT DEFAULT 0) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci",
			"INSERT INTO orders (n) VALUES (1), (2), (3)")
		databases[name] = db
		host, port, err := net.SplitHostPort(server.Address)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(f.folder, "servers-"+cell)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n[midstream]\ndatabase=%s\nlabels=cell=%s\n", host, port, server.User, server.Password, database, cell)
		if err := os.WriteFile(filepath.Join(folder, name+".cnf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f.serve(filepath.Join(bin, "midstream"), name, cell, folder)
	}
	for _, name := range parts() {
		f.start(name)
	}
	f.submit("id: real\nstatement: ALTER TABLE orders ADD COLUMN note VARCHAR(40)\nselector: \"*\"\nwaves:\n" +
		"  - {name: canary, selector: server=s00, soak: 3s}\n  - {name: rest}\nlimits: {all: 1}\nundo: 1h\n")
	time.Sleep(3 * time.Second)
	for _, name := range []string{"agent a", "worker", "agent b", "dev"} {
		f.kill(name)
		f.start(name)
		time.Sleep(time.Second)
	}
	f.until("real", rollout.PhaseFinished)
	has := func(want bool) {
		t.Helper()
		for name, db := range databases {
			columns := mysqltest.Text(db, "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders'")
			if got := strings.Contains(columns, "note"); got != want {
				t.Errorf("%s has the change: %t", name, got)
			}
		}
	}
	has(true)
	if code, out := f.call("undo", "real"); code != 0 {
		t.Fatalf("undo: %d: %s", code, out)
	}
	f.until("real", rollout.PhaseUndone)
	has(false)
	for _, db := range databases {
		mysqltest.Exec(t, db, "DROP TABLE IF EXISTS orders_undo") // it is kept for a redo, until --undo is over
	}
}

// serve starts the service of a cell.
func (f *fleet) serve(midstream, server, cell, folder string) {
	f.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	at := listener.Addr().String()
	if err := listener.Close(); err != nil {
		f.t.Fatal(err)
	}
	state, token := filepath.Join(f.folder, "state-"+cell), filepath.Join(f.folder, "token-"+cell)
	if err := os.WriteFile(token, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(midstream, "serve", "--server="+server+"="+filepath.Join(folder, server+".cnf"), "--listen="+at,
		"--state-dir="+state, "--token-file="+token)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if f.t.Failed() {
			f.t.Logf("serve of %s: %s", cell, log.String())
		}
	})
	f.agents[cell] = []string{"--service=http://" + at, "--token-file=" + token, "--inventory=" + folder, "--midstream=" + midstream}
	for range 100 {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+at+"/", nil)
		if err != nil {
			f.t.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.t.Fatalf("serve of %s does not answer: %s", cell, log.String())
}
