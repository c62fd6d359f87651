package queue

import (
	"testing"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/socket"
	"midstream/internal/ops/undos"
)

// TestCommandsReachTheServerFromElsewhere: who reads the queue does not have the option file of the service.
func TestCommandsReachTheServerFromElsewhere(t *testing.T) {
	configs := map[string]dbconn.Config{"main": {Network: "tcp", Address: "db1:3307"}, "local": {Network: "unix", Address: "/run/my.sock"}}
	s := &Service{cfg: Config{Servers: map[string]string{"main": "/etc/it's/main.cnf", "local": "/etc/local.cnf"}, Undos: undos.New(configs, "")}}
	const ours = `midstream cleanup --defaults-file='/etc/it'\''s/main.cnf' shop.orders`
	if got := s.elsewhere("main", "give it up: "+ours); got != "give it up: midstream cleanup --host=db1 --port=3307 shop.orders" {
		t.Error(got)
	}
	status := socket.Status{About: socket.About{Reach: `--defaults-file='/etc/it'\''s/main.cnf'`}, Held: "until " + ours}
	if s.readdress("main", &status); status.Reach != "--host=db1 --port=3307" || status.Held != "until midstream cleanup --host=db1 --port=3307 shop.orders" {
		t.Errorf("%+v", status)
	}
	e := &entry{Change: Change{Server: "local", State: StateUnknown, Next: "remove it: midstream cleanup shop.orders"}}
	if got := s.view(e).Next; got != "remove it: midstream cleanup --socket='/run/my.sock' shop.orders" {
		t.Error(got)
	}
	if got := (&Service{}).elsewhere("main", ours); got != ours { // no server is known
		t.Error(got)
	}
}
