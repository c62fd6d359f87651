package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/session"
)

// followers are the flags that say which replicas are looked at.
type followers struct {
	listed []string // host:port
	unseen string   // what is done about replicas that can't be reached
	// find says that those are looked at too that the server tells, but for the skipped.
	find    bool
	skipped []string
	// user and password are theirs, where they are not the server's.
	user     string
	password *dbconn.Secret
}

// What is done about replicas that can't be reached.
const (
	unseenRefuse = "refuse"
	unseenIgnore = "ignore"
)

// registerSettings adds the flags of what may also change while a run is at work.
func (c *change) registerSettings() {
	c.config, c.settings = migration.Config{}.WithDefaults(), operator.CommandLineDefaults()
	for _, setting := range operator.AllSettings() {
		var parts []string
		c.checks.add("", setting.Name, setting.Kind, setting.Get(c.settings), setting.Help, func(text string) error {
			if setting.Repeats {
				parts = append(parts, text)
				text = strings.Join(parts, ",")
			}
			return setting.Set(&c.settings, text)
		})
		if setting.Kind == "bool" {
			c.checks.flags.Lookup(setting.Name).NoOptDefVal = "true"
		}
	}
}

// registerReplicas adds the flags that say which replicas are looked at.
func (c *change) registerReplicas() {
	f := &c.checks
	address := func(to *[]string) func(string) error {
		return func(text string) error {
			host, port, err := net.SplitHostPort(text)
			if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
				return errors.New("it is host:port")
			}
			*to = append(*to, text)
			return nil
		}
	}
	c.followers.find = true
	f.add("", "replica", "host:port", "", "a replica to look at, if it is not found; may be repeated", address(&c.followers.listed))
	f.add(
		"", "skip-replica", "host:port", "", "a replica not to look at, though it is found; may be repeated",
		address(&c.followers.skipped),
	)
	f.add(
		"",
		"find-replicas",
		"bool",
		"true",
		"look at the replicas that the server tells, too; false: only at those of --replica",
		func(text string) (err error) {
			c.followers.find, err = operator.ReadBool(text)
			return err
		},
	)
	f.enum(
		"unseen-replicas", unseenIgnore, []string{unseenIgnore, unseenRefuse},
		"what to do about replicas that were found and can't be reached by this account: go on without them, or refuse",
		func(word string) { c.followers.unseen = word },
	)
}

// open connects to one.
func (f *followers) open(ctx context.Context, s *server, address string) (*dbconn.Pool, error) {
	cfg := s.Config
	cfg.Network, cfg.Address = "tcp", address
	cfg.User = cmp.Or(f.user, cfg.User)
	if f.password != nil {
		cfg.Password = *f.password
	}
	return dbconn.Open(ctx, cfg, nil)
}

// refollow has a run that is at work look at these replicas and no others, until its server is
// lost. close ends the connections.
func (f *followers) refollow(ctx context.Context, s *server, run *session.Session, addresses []string) (close func(), err error) {
	var pools []*dbconn.Pool
	close = func() {
		for _, pool := range pools {
			pool.Close()
		}
	}
	var replicas []operator.Follower
	for _, address := range addresses {
		pool, err := f.open(ctx, s, address)
		if err != nil {
			close()
			return nil, fmt.Errorf("%w: %w", errUnseen, err)
		}
		pools, replicas = append(pools, pool), append(replicas, operator.Follower{Name: address, DB: pool.DB()})
	}
	before := run.Control().Settings()
	run.Control().Watch(replicas)
	const any = "max-history" // a setting that has what the run waits for looked at anew
	setting, _ := operator.SettingOf(any)
	if err := run.Control().Set(ctx, map[string]string{any: setting.Get(before)}); err != nil {
		run.Control().Watch(before.Throttle.Replicas)
		close()
		return nil, err
	}
	return close, nil
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
	t := &c.settings.Throttle
	t.Replicas = nil
	if t.ReplicaLag <= 0 {
		return undo, nil
	}
	if !c.followers.find {
		found = nil
	}
	for i, address := range slices.Concat(c.followers.listed, found) {
		listed := i < len(c.followers.listed)
		if !listed && slices.Contains(c.followers.skipped, address) {
			continue
		}
		if strings.HasPrefix(address, ":") {
			if len(c.followers.listed) == 0 {
				c.output.note(
					"a replica does not tell its address (report_host), and nobody looks how far it is behind: name it by --replica",
				)
			}
			continue
		}
		pool, err := c.followers.open(ctx, s, address)
		if err == nil {
			pools = append(pools, pool)
			// A server may still count one that has been promoted (MariaDB, until it next sends it
			// something in vain).
			if from, err := facts.Sources(ctx, pool.DB()); err == nil && len(from) == 0 && !listed {
				c.output.note(fmt.Sprintf("%s replicates from no server any more, and nobody looks how far it is behind", address))
				continue
			}
			t.Replicas = append(t.Replicas, operator.Follower{Name: address, DB: pool.DB()})
			continue
		}
		if listed || c.followers.unseen == unseenRefuse {
			undo()
			return nil, unwritten(
				ctx, fmt.Errorf("%w: %w", errUnseen, err),
				"say which can be, by --replica, or --unseen-replicas="+unseenIgnore,
			)
		}
		c.output.note(fmt.Sprintf("replica %s can't be reached, and nobody looks how far it is behind: %v", address, err))
	}
	return undo, nil
}
