package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/migration"
	"midstream/internal/throttle"
)

// followers are the flags that say which replicas are looked at.
type followers struct {
	listed []string // host:port
	unseen string   // what is done about replicas that can't be reached
}

// What is done about replicas that can't be reached.
const (
	unseenRefuse = "refuse"
	unseenIgnore = "ignore"
)

// registerThrottle adds the flags that say for what a run waits.
func (c *change) registerThrottle() {
	f, t := &c.checks, &c.config.Throttle
	f.duration(&t.ReplicaLag, "max-replica-lag", time.Second, 0, time.Hour, "how far a replica may be behind, beyond what it shall be; 0: any. They are found by SHOW REPLICAS, and\nmeasured by heartbeats")
	f.add("", "replica", "host:port", "", "a replica to look at, if it is not found; may be repeated", func(text string) error {
		host, port, err := net.SplitHostPort(text)
		if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
			return errors.New("it is host:port")
		}
		c.followers.listed = append(c.followers.listed, text)
		return nil
	})
	f.enum("unseen-replicas", unseenIgnore, []string{unseenIgnore, unseenRefuse}, "what to do about replicas that were found and can't be reached by this account: go on without them, or refuse",
		func(word string) { c.followers.unseen = word })
	f.duration(&t.CaptureDelay, "max-capture-delay", 3*time.Second, 0, time.Hour, "how far capture may be behind: above it the row copy waits until it is at half of it; 0: any")
	limits := func(to *[]throttle.Limit) func(string) error {
		return func(text string) (err error) {
			*to, err = throttle.ParseLimits(text)
			return err
		}
	}
	f.add("", "max-load", "limits", "", "status variables above which the row copy waits: Threads_running=50,Threads_connected=900", limits(&t.MaxLoad))
	f.add("", "critical-load", "limits", "", "status variables above which the run ends, if they are so in two looks in a row", limits(&t.CriticalLoad))
	f.integer(&t.History, "", "max-history", 1_000_000, 0, 1_000_000_000, "entries of InnoDB's history list above which the row copy waits; 0: any")
	f.add("", "max-redo", "percent", "75", "share of the redo log that may be unflushed (MySQL 8.0.30 and later); 0: any", func(text string) error {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
		if err != nil || n < 0 || n > 100 {
			return errors.New("it is from 0 to 100")
		}
		t.CheckpointAge = float64(n) / 100
		return nil
	})
	t.CheckpointAge = 0.75
	f.size(&t.FreeDisk, "min-free-disk", "bytes that must stay free where the server's files are, if that is this machine (10G)")
	f.size(&t.GivenDisk, "free-disk", "bytes that are free there, if that is another machine: the run waits when it has written nine tenths of it")
	f.flags.StringVar(&t.File, "throttle-file", "", "file on this machine: the run waits while it is there")
	f.flags.StringVar(&t.Query, "throttle-query", "", "query on the server: the run waits while its first value is above 0")
	f.add("", "throttle-url", "url", "", "the run waits while a GET is answered by another status than 2xx", func(text string) error {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("it is a URL that begins with http:// or https://")
		}
		t.URL = text
		return nil
	})
}

// errUnseen says that a replica can't be looked at.
var errUnseen = errors.New("a replica can't be reached")

// follow connects to the replicas, those that are listed and those that the plan has found, and returns what
// closes the connections.
func (c *change) follow(ctx context.Context, s *server, found []string) (undo func(), err error) {
	var pools []*dbconn.Pool
	undo = func() {
		for _, pool := range pools {
			pool.Close()
		}
	}
	t := &c.config.Throttle
	t.Replicas = nil
	if t.ReplicaLag <= 0 {
		return undo, nil
	}
	for i, address := range slices.Concat(c.followers.listed, found) {
		listed := i < len(c.followers.listed)
		if strings.HasPrefix(address, ":") {
			if len(c.followers.listed) == 0 {
				c.output.note("a replica does not tell its address (report_host), and nobody looks how far it is behind: name it by --replica")
			}
			continue
		}
		cfg := s.cfg
		cfg.Network, cfg.Address = "tcp", address
		pool, err := dbconn.Open(ctx, cfg, nil)
		if err == nil {
			pools = append(pools, pool)
			t.Replicas = append(t.Replicas, migration.Follower{Name: address, DB: pool.DB()})
			continue
		}
		if listed || c.followers.unseen == unseenRefuse {
			undo()
			return nil, unwritten(ctx, fmt.Errorf("%w: %w", errUnseen, err), "say which can be, by --replica, or --unseen-replicas="+unseenIgnore)
		}
		c.output.note(fmt.Sprintf("replica %s can't be reached, and nobody looks how far it is behind: %v", address, err))
	}
	return undo, nil
}
