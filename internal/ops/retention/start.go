package retention

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
)

// Times are how long servers keep their old tables. The zero value keeps them all.
type Times struct {
	all  time.Duration
	each map[string]time.Duration // by the names of servers
}

// Set reads 7d for all servers, or name=7d for one.
func (t *Times) Set(text string) error {
	name, keep, one := strings.Cut(text, "=")
	if !one {
		name, keep = "", text
	}
	d, err := ParseKeep(keep)
	switch {
	case err != nil:
		return err
	case !one:
		t.all = d
		return nil
	case t.each == nil:
		t.each = map[string]time.Duration{}
	}
	t.each[name] = d
	return nil
}

// Named are the servers that have a time of their own.
func (t *Times) Named() []string { return slices.Sorted(maps.Keys(t.each)) }

// Of returns the servers whose old tables are dropped.
func (t *Times) Of(configs map[string]dbconn.Config) []Server {
	var servers []Server
	for name, config := range configs {
		keep, own := t.each[name]
		if !own {
			keep = t.all
		}
		if keep > 0 {
			servers = append(servers, Server{Name: name, Config: config, Keep: keep})
		}
	}
	return servers
}

// Over returns the servers of the moment whose old tables are dropped; nil if no server has a time.
func (t *Times) Over(configs func() map[string]dbconn.Config) func() []Server {
	some := t.all > 0
	for _, keep := range t.each {
		some = some || keep > 0
	}
	if !some {
		return nil
	}
	return func() []Server { return t.Of(configs()) }
}

// Start makes rounds in the background, if any table is to be dropped. The returned function waits until they have ended,
// once ctx has.
func (k *Keeper) Start(ctx context.Context) (wait func()) {
	if k.Servers == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	return func() { <-done }
}

// ParseKeep reads how long old tables are kept: 7d, or 36h. 0 means that they are never dropped.
func ParseKeep(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 3650 {
			return 0, errors.New("must be 0d to 3650d, such as 7d")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	keep, err := time.ParseDuration(text)
	if err != nil || keep < 0 || keep > 3650*24*time.Hour {
		return 0, errors.New("must be a time from 0s to 3650d, such as 7d or 36h")
	}
	return keep, nil
}
