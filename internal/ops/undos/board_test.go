package undos_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/undos"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestU3_ASilentServerDelaysNoOther: a server that accepts connections and never answers delays no answer about another
// one, and nothing is known of its undos.
func TestU3_ASilentServerDelaysNoOther(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	_, database := mysqltest.Database(t, i)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	config := dbconn.Config{Network: i.Network, Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password)}
	mute := config
	mute.Network, mute.Address = "tcp", silent.Addr().String()
	board := undos.New(map[string]dbconn.Config{"main": config, "mute": mute}, t.TempDir())
	table := schema.Name{Schema: database, Table: "t"}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var running sync.WaitGroup
	running.Go(func() { board.Run(ctx, func(string) []schema.Name { return []schema.Name{table} }) })
	for board.Of("main", table).Asked.IsZero() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if now := board.Of("main", table); now.Asked.IsZero() || now.Fault != nil || now.Kept != nil {
		t.Errorf("the server's answer is %+v", now)
	}
	if now := board.Of("mute", table); !now.Asked.IsZero() {
		t.Errorf("a silent server has answered %+v", now)
	}
	for board.Of("mute", table).Fault == nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if now := board.Of("mute", table); now.Fault == nil || now.Known(time.Now()) {
		t.Errorf("a silent server is known: %+v", now)
	}
	stop()
	running.Wait()
}
