package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/dbconn"
)

// Replicas say which replicas a change watches.
type Replicas struct {
	Listed  []string // host:port
	Skipped []string // though they are found
	// MustSee makes a replica that is found and can't be reached an error.
	MustSee bool
	// User and Password are theirs, where they are not the server's.
	User     string
	Password *dbconn.Secret
}

// ErrUnseen says that a replica can't be reached.
var ErrUnseen = errors.New("cannot reach a replica")

// open connects to one.
func (r *Replicas) open(ctx context.Context, s *Server, address string) (*dbconn.Pool, error) {
	cfg := s.Config
	cfg.Network, cfg.Address = "tcp", address
	cfg.User = cmp.Or(r.User, cfg.User)
	if r.Password != nil {
		cfg.Password, cfg.PasswordFrom = *r.Password, nil
	}
	return dbconn.Open(ctx, cfg, nil)
}

// Follow connects to the replicas that are listed and those that were found. note takes what somebody
// should know; undo closes the connections.
func (r *Replicas) Follow(
	ctx context.Context,
	s *Server,
	found []string,
	note func(string),
) (followers []operator.Follower, undo func(), err error) {
	var pools []*dbconn.Pool
	undo = func() {
		for _, pool := range pools {
			pool.Close()
		}
	}
	for i, address := range slices.Concat(r.Listed, found) {
		listed := i < len(r.Listed)
		if !listed && slices.Contains(r.Skipped, address) {
			continue
		}
		if strings.HasPrefix(address, ":") {
			if len(r.Listed) == 0 {
				note("a replica does not report its address (report_host), so the run does not watch its lag: name it by --replica")
			}
			continue
		}
		pool, err := r.open(ctx, s, address)
		if err == nil {
			pools = append(pools, pool)
			// A server may still count one that has been promoted (MariaDB, until it next sends it
			// something in vain).
			if from, err := facts.Sources(ctx, pool.DB()); err == nil && len(from) == 0 && !listed {
				note(fmt.Sprintf("%s no longer replicates, so the run does not watch its lag", address))
				continue
			}
			followers = append(followers, operator.Follower{Name: address, DB: pool.DB()})
			continue
		}
		if listed || r.MustSee {
			undo()
			return nil, nil, fmt.Errorf("%w: %w", ErrUnseen, err)
		}
		note(fmt.Sprintf("cannot reach replica %s, so the run does not watch its lag: %v", address, err))
	}
	return followers, undo, nil
}

// Refollow has a change that is at work watch these replicas and no others, until its server is
// lost. undo ends the connections.
func (s *Session) Refollow(ctx context.Context, server *Server, r *Replicas, addresses []string) (undo func(), err error) {
	var pools []*dbconn.Pool
	undo = func() {
		for _, pool := range pools {
			pool.Close()
		}
	}
	var replicas []operator.Follower
	for _, address := range addresses {
		pool, err := r.open(ctx, server, address)
		if err != nil {
			undo()
			return nil, fmt.Errorf("%w: %w", ErrUnseen, err)
		}
		pools, replicas = append(pools, pool), append(replicas, operator.Follower{Name: address, DB: pool.DB()})
	}
	before := s.control.Settings()
	s.control.Watch(replicas)
	const any = "max-history" // a setting that makes the run check again what it waits for
	setting, _ := operator.SettingOf(any)
	if err := s.control.Set(ctx, map[string]string{any: setting.Get(before)}); err != nil {
		s.control.Watch(before.Throttle.Replicas)
		undo()
		return nil, err
	}
	return undo, nil
}
