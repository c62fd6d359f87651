package retention

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
)

// All are servers that keep their old tables for the same time.
func All(configs map[string]dbconn.Config, keep time.Duration) []Server {
	var servers []Server
	for name, config := range configs {
		servers = append(servers, Server{Name: name, Config: config, Keep: keep})
	}
	return servers
}

// Start makes rounds in the background, if any table is to be dropped. The returned function waits until they have ended,
// once ctx has.
func (k *Keeper) Start(ctx context.Context) (wait func()) {
	if len(k.Servers) == 0 || k.Servers[0].Keep <= 0 {
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
