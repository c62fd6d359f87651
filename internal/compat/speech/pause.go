package speech

import (
	"regexp"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/throttle"
)

// Pause is why a run waits, taken apart.
type Pause struct {
	Kind    string // of the gate: "max-load", "replica-lag", "file", ...
	Replica string // host:port, where it is about one
	Loads   []Load // of max-load
	Lag     time.Duration
	Still   bool // the replication of Replica stands still
	Why     string
}

// Load is a status variable that is above its bound.
type Load struct{ Variable, Now, Most string }

// What gates tell: of loads, and of a replica that is behind.
var (
	overLoad = regexp.MustCompile(`(\w+) is ([\d.e+]+), at most ([\d.e+]+)`)
	behind   = regexp.MustCompile(`is (\S+) behind`)
)

// PauseOf takes a gate apart. What its text doesn't say stays empty.
func PauseOf(g event.Gate) Pause {
	kind, replica, _ := strings.Cut(g.Name, " ")
	p := Pause{Kind: kind, Replica: replica, Why: g.Why, Still: kind == "replication" && strings.HasSuffix(g.Why, throttle.Still)}
	p.Lag, _ = time.ParseDuration(behind.ReplaceAllString(behind.FindString(g.Why), "$1")) // none: 0
	for _, m := range overLoad.FindAllStringSubmatch(g.Why, -1) {
		p.Loads = append(p.Loads, Load{m[1], m[2], m[3]})
	}
	return p
}
