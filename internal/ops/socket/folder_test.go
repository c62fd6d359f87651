package socket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

func folder(t *testing.T) string {
	t.Helper()
	short, err := os.MkdirTemp("", "c") // an address of a socket has 103 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	return filepath.Join(short, "s")
}

// begin makes a server whose end is the caller's to bring about.
func begin(folder, table string) (*Server, error) {
	return Serve(folder, Run{
		About: About{
			Table:   table,
			Server:  "db1:3306",
			Version: "test",
			Process: os.Getpid(),
		},
		Control: operator.NewControl(operator.CommandLineDefaults()),
		Emit:    event.Discard,
		Stopped: func() string { return "" },
		Lost:    func() string { return "" },
	})
}

func serve(t *testing.T, folder, table string) (*Server, error) {
	t.Helper()
	s, err := begin(folder, table)
	if err == nil {
		t.Cleanup(func() { s.Close(nil) })
	}
	return s, err
}

// A socket on which nobody answers is replaced, or forgotten by who looks; one on which somebody does is left alone.
func TestDeadSockets(t *testing.T) {
	folder := folder(t)
	if _, err := serve(t, folder, "shop.orders"); err != nil {
		t.Fatal(err)
	}
	dead := func(table string) string {
		path, err := socketOf(folder, table, "db1:3306")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		listener.SetUnlinkOnClose(false) // as after kill -9
		listener.Close()
		return path
	}
	left := dead("shop.items")
	dead("shop.customers")
	if _, err := serve(t, folder, "shop.customers"); err != nil {
		t.Errorf("in place of a dead one: %v", err)
	}
	runs, err := Find(t.Context(), folder)
	if err != nil || len(runs) != 2 || runs[0].Found.Table != "shop.customers" || runs[1].Found.Table != "shop.orders" {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead one: %v", err)
	}
}

// A run that begins while another of its table ends is found as soon as that one is gone, whose end
// leaves its socket alone; until then its own process reaches it.
func TestTheNextRunIsFound(t *testing.T) {
	folder := folder(t)
	ending, err := begin(folder, "shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	next, err := begin(folder, "shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	var status Status
	if err := next.Client().Call(t.Context(), http.MethodGet, "status", nil, &status); err != nil {
		t.Errorf("from its own process: %v", err)
	}
	if runs, err := Find(t.Context(), folder); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	ending.Close(nil)
	<-next.socket.settled
	runs, err := Find(t.Context(), folder)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	next.Close(nil)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

// A folder into which others may look, or that is a link, is not used, neither by a run nor by who looks for runs.
func TestFolderIsOurs(t *testing.T) {
	open := folder(t)
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	link := open + "l"
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{open, link} {
		if _, err := serve(t, path, "shop.orders"); !errors.Is(err, ErrFolder) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := Find(t.Context(), path); !errors.Is(err, ErrFolder) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if runs, err := Find(t.Context(), open+"-nowhere"); err != nil || runs != nil {
		t.Errorf("no folder: %v, %v", runs, err)
	}
}

// The path of a socket has 103 bytes at most, and no part of a name leads out of the folder.
func TestSocketNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"shop.orders", "shop./../../etc/passwd", "größe.tabelle", "..", strings.Repeat("a", 64) + "." + strings.Repeat("b", 64), strings.Repeat("a", 64) + "." + strings.Repeat("c", 64)} {
		for _, server := range []string{"db1:3306", "db2:3306"} {
			path, err := socketOf("/run/user/1000/midstream", name, server)
			if err != nil || len(path) > longestPath || filepath.Dir(path) != "/run/user/1000/midstream" || seen[path] ||
				strings.HasPrefix(filepath.Base(path), ".") {
				t.Errorf("%s on %s: %s, %v", name, server, path, err)
			}
			seen[path] = true
		}
	}
	if _, err := socketOf("/"+strings.Repeat("d", 100), "shop.orders", "db1"); !errors.Is(err, ErrFolder) {
		t.Errorf("no room: %v", err)
	}
}

// Who looks for runs does not take the socket from one that is beginning.
func TestFindWhileOneBegins(t *testing.T) {
	folder := folder(t)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for ctx.Err() == nil {
				_, _ = Find(ctx, folder)
			}
		})
	}
	for range 500 {
		socket, err := listen(folder, "shop.orders", "db1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(socket.path); err != nil {
			t.Fatal(err)
		}
		socket.Close() // and is dead
	}
	stop()
	looking.Wait()
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > 1 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

// A run that stands still (Ctrl-Z) holds up nobody who asks another one.
func TestFindProcessBesideOneThatStandsStill(t *testing.T) {
	folder := folder(t)
	if _, err := serve(t, folder, "shop.orders"); err != nil {
		t.Fatal(err)
	}
	path, err := socketOf(folder, "shop.a", "db1:3306")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience-time.Second)
	defer cancel()
	runs, err := FindProcess(ctx, folder, os.Getpid())
	if err != nil || len(runs) != 1 || runs[0].Found.Table != "shop.orders" {
		t.Errorf("%+v, %v", runs, err)
	}
}

// TestCurlSendsJSON: a body that curl --unix-socket -d sends is JSON.
func TestCurlSendsJSON(t *testing.T) {
	s, err := serve(t, folder(t), "shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket.path)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://run/v1/set", strings.NewReader(`{"settings":{"workers":"3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusConflict { // the run has not begun: it has read the command
		t.Error(response.Status)
	}
}
