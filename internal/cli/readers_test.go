package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/capture"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/binlog"
)

// lagging is a client that reads the binlog as programs do that are no replicas, and gives its position as Kafka Connect does.
type lagging struct {
	mu   sync.Mutex
	stop bool // it reads no further
	at   binlog.Position
}

// read reads the binlog of a server from a position on, until the test ends.
func (l *lagging) read(t *testing.T, i *mysqltest.Instance, from binlog.Position) {
	host, text, _ := strings.Cut(i.Address, ":")
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	l.at = from
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 4_000_000_001, Flavor: "mysql", Host: host, Port: uint16(port), User: i.User, Password: i.Password,
		Logger: slog.New(slog.DiscardHandler), MaxReconnectAttempts: 1,
	})
	stream, err := syncer.StartSync(mysql.Position{Name: from.File, Pos: uint32(from.Offset)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			e, err := stream.GetEvent(ctx)
			if err != nil {
				return // the test ends
			}
			l.mu.Lock()
			if r, is := e.Event.(*replication.RotateEvent); is && !l.stop {
				l.at = binlog.Position{File: string(r.NextLogName), Offset: r.Position}
			} else if !l.stop && e.Header.LogPos > 0 {
				l.at.Offset = uint64(e.Header.LogPos)
			}
			l.mu.Unlock()
		}
	})
	t.Cleanup(func() { cancel(); syncer.Close(); wait.Wait() })
}

func (l *lagging) set(stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop = stop
}

// url is where its offsets are.
func (l *lagging) url(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprintf(w, `{"offsets":[{"partition":{"server":"former"},"offset":{"file":"a.000001","pos":4}},`+
			`{"partition":{"server":"shop"},"offset":{"ts_sec":1,"file":"%s","pos":%d,"row":1,"event":2}}]}`, l.at.File, l.at.Offset)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/connectors/shop/offsets?secret=sesame"
}

// TestL6_AReaderOfTheBinlogThatIsBehindHoldsTheSwap: a run whose reader of the binlog is behind names it, and swaps once the reader has
// come near. cutover --now does not wait for it. The URL's secret is printed nowhere.
func TestL6_AReaderOfTheBinlogThatIsBehindHoldsTheSwap(t *testing.T) {
	sideBySide(t)
	c := toControlIn(t, mysqltest.Own(t, "9.7", sandbox.Options{}), 2000) // plans of other tests would name the reader too
	var client lagging
	from, err := capture.End(t.Context(), c.i.Open(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	client.read(t, c.i, from)
	client.set(true)
	// The plan names the reader, once the server lists its session.
	var plan string
	for end := time.Now().Add(20 * time.Second); !strings.Contains(plan, "programs read the binlog, and are no replicas: "+c.i.User+"@"); {
		if time.Now().After(end) {
			t.Fatalf("the plan does not name the reader:\n%s\n%s", plan, c.query("SELECT GROUP_CONCAT(processlist_command, '/', processlist_user, '/', processlist_id) FROM performance_schema.threads")+
				c.query("SELECT GROUP_CONCAT(processlist_id, '/', attr_name, '/', attr_value) FROM performance_schema.session_connect_attrs"))
		}
		_, plan, _ = midstream(t, append(flagsTo(t, c.i), "plan", "--method=shadow", "ALTER TABLE "+c.name+" ADD COLUMN d INT")...)
	}
	for i, now := range []bool{false, true} {
		client.set(true)
		c.begin(fmt.Sprintf("ALTER TABLE %s ADD COLUMN c%d INT", c.name, i), "--method=shadow", "--max-reader-lag=1s", "--binlog-reader=shop="+client.url(t))
		c.phase("hold")
		c.await("the reader's name", func() bool {
			return strings.Contains(c.status().Held, "reader shop of the binlog is more than 1s behind")
		})
		time.Sleep(2500 * time.Millisecond) // longer than the lag: what counts is the reader, and not the time
		if n := c.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'"); n != fmt.Sprint(3+i) {
			t.Fatalf("the table has %s columns while the reader is behind", n)
		}
		if now {
			c.obeys("cutover", []string{"--now"})
		} else {
			client.set(false)
		}
		if code := c.run.exit(); code != exit.Done {
			t.Fatalf("exit code %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
		}
		if all := c.run.stdout.String() + c.run.stderr.String(); strings.Contains(all, "sesame") || !strings.Contains(all, "has to reach") {
			t.Errorf("the output is\n%s", all)
		}
	}
}
