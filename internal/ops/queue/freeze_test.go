package queue

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestS6_AServerThatHasLeftDoesNotStayFrozen: the run of a server that the service no longer has goes on, and its freeze can end.
func TestS6_AServerThatHasLeftDoesNotStayFrozen(t *testing.T) {
	folder, path := t.TempDir(), filepath.Join(t.TempDir(), "s.db")
	store := file(t, path)
	s := in(t, store, folder)
	frozen := func(server string) bool {
		t.Helper()
		if err := s.applyFreezes(); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(s.freezes.file(server))
		return err == nil
	}
	end := time.Now().Add(time.Second)
	for _, asked := range []FreezeRequest{{Server: EveryServer, Reason: "x", Until: &end}, {Server: "db2", Reason: "y"}} {
		if _, err := s.Freeze(t.Context(), asked, anyone); err != nil {
			t.Fatal(err)
		}
	}
	if !frozen("db1") || !frozen("db2") {
		t.Fatal("a server is not frozen")
	}
	for _, one := range []io.Closer{s, store} {
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = in(t, file(t, path), folder)
	s.SetServers(nil, Inventory{})
	if !frozen("db1") || !frozen("db2") {
		t.Error("a server that has left swaps")
	}
	time.Sleep(time.Until(end))
	if frozen("db1") {
		t.Error("the server stays frozen, although the freeze of all has ended")
	}
	if _, err := s.Unfreeze(t.Context(), "db2", anyone); err != nil || frozen("db2") {
		t.Errorf("the server stays frozen: %v", err)
	}
	if _, err := s.Unfreeze(t.Context(), "db3", anyone); err == nil {
		t.Error("an unknown server was unfrozen")
	}
}
