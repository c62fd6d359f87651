package cli

import (
	"context"
	"strings"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/ops/session"
)

// replicaFlags are the flags that say which replicas are looked at.
type replicaFlags struct {
	session.Replicas
	// find says that those are watched too that the server lists, but for the skipped.
	find bool
}

// What is done about replicas that can't be reached.
const (
	unseenRefuse = "refuse"
	unseenIgnore = "ignore"
)

// registerSettings adds the flags of what may also change while a run is at work, of those that the verb takes.
func (c *change) registerSettings(takes func(operator.Setting) bool) {
	c.config, c.settings = migration.Config{}.WithDefaults(), operator.CommandLineDefaults()
	for _, setting := range operator.AllSettings() {
		if !takes(setting) {
			continue
		}
		var parts []string
		c.checks.Add("", setting.Name, setting.Kind, setting.Get(c.settings), setting.Help, func(text string) error {
			if setting.Repeats {
				parts = append(parts, text)
				text = strings.Join(parts, ",")
			}
			return setting.Set(&c.settings, text)
		})
		if setting.Kind == "bool" {
			c.checks.Flags.Lookup(setting.Name).NoOptDefVal = "true"
		}
	}
}

// registerReplicas adds the flags that say which replicas are looked at.
func (c *change) registerReplicas() {
	f := &c.checks
	address := func(to *[]string) func(string) error {
		return func(text string) error {
			*to = append(*to, text)
			return operator.CheckAddress(text)
		}
	}
	c.followers.find = true
	f.Add("", "replica", "host:port", "", "replica to watch, in addition to the replicas that the run finds; may be repeated", address(&c.followers.Listed))
	f.Add("", "skip-replica", "host:port", "", "replica not to watch; may be repeated", address(&c.followers.Skipped))
	f.Add(
		"",
		"find-replicas",
		"bool",
		"true",
		"also watch the replicas that the server reports; false: only the replicas of --replica",
		func(text string) (err error) {
			c.followers.find, err = operator.ReadBool(text)
			return err
		},
	)
	f.Enum(
		"unseen-replicas", unseenIgnore, []string{unseenIgnore, unseenRefuse},
		"refuse, or ignore, replicas that the run finds but cannot connect to with this account",
		func(word string) { c.followers.MustSee = word == unseenRefuse },
	)
}

// follow connects to the replicas, those that are listed and those that the plan has found, and returns what
// closes the connections.
func (c *change) follow(ctx context.Context, s *server, found []string) (undo func(), err error) {
	t := &c.settings.Throttle
	t.Replicas = nil
	if t.ReplicaLag <= 0 {
		return func() {}, nil
	}
	if !c.followers.find {
		found = nil
	}
	t.Replicas, undo, err = c.followers.Follow(ctx, s, found, c.output.note)
	if err != nil {
		return nil, exit.Unwritten(ctx, err, "name reachable replicas by --replica, or use --unseen-replicas="+unseenIgnore)
	}
	return undo, nil
}
