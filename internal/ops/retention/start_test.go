package retention

import (
	"slices"
	"testing"
	"time"

	"midstream/internal/mysql/dbconn"
)

func TestParseKeep(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "36h": 36 * time.Hour, "0s": 0, "0d": 0} {
		if got, err := ParseKeep(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "7", "9999d", "-2h", "1w"} {
		if got, err := ParseKeep(text); err == nil {
			t.Errorf("%s was taken for %s", text, got)
		}
	}
}

// TestTimesOfServers: a server has its own time, or that of all. A server without a time keeps its old tables.
func TestTimesOfServers(t *testing.T) {
	configs := map[string]dbconn.Config{"main": {}, "stats": {}, "log": {}}
	var times Times
	for _, text := range []string{"7d", "stats=0s", "log=36h"} {
		if err := times.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]time.Duration{}
	for _, s := range times.Of(configs) {
		got[s.Name] = s.Keep
	}
	if len(got) != 2 || got["main"] != 7*24*time.Hour || got["log"] != 36*time.Hour {
		t.Errorf("the times are %v", got)
	}
	if named := times.Named(); !slices.Equal(named, []string{"log", "stats"}) {
		t.Errorf("%v have times of their own", named)
	}
	if over := times.Over(func() map[string]dbconn.Config { return configs }); len(over()) != 2 || (&Times{}).Over(nil) != nil {
		t.Error("the servers of the moment are wrong")
	}
	if len((&Times{}).Of(configs)) != 0 || times.Set("main=soon") == nil {
		t.Error("a wrong time was taken")
	}
}
