package ptosc

import (
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"midstream/internal/compat/speech"
)

// chunkTime is the default there.
const chunkTime = 500 * time.Millisecond

// Flags are those of midstream run that ask for the same. What follows from the server's state is Meet's.
func (a *Asked) Flags() []string {
	flags := a.Server.flags()
	add := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	add("--database=%s", a.Table.Schema)
	add("--table=`%s`", strings.ReplaceAll(a.Table.Table, "`", "``"))
	add("--alter=%s", a.Alter)
	for _, name := range []string{"max-load", "critical-load"} {
		add("--%s=%s", name, loadText(a.loads[name]))
	}
	lag := time.Second
	if a.said.has("max-lag") {
		lag, _ = parseTime(a.said.last("max-lag")) // Read has looked at it
	}
	add("--max-replica-lag=%s", min(max(lag, time.Millisecond), time.Hour))
	target := a.said.seconds("chunk-time", 0)
	if target > 0 {
		add("--chunk-time=%s", target)
	} else {
		target = chunkTime
	}
	if rest := a.said.seconds("sleep", 0); rest > 0 {
		add("--copy-share=%.0f%%", math.Max(1, 100*float64(target)/float64(target+rest)))
	}
	if path := a.said.last("pause-file"); path != "" {
		add("--throttle-file=%s", path)
	}
	flags = append(flags, a.Replicas.flags()...)
	return append(flags, a.ending()...)
}

// ending are the flags that say how a run ends.
func (a *Asked) ending() []string {
	var flags []string
	patience, _ := a.patience() // Read has looked at it
	switch {
	case a.Mode != Execute:
	case !a.swaps && a.dropNew:
		flags = append(flags, "--rehearse")
	case !a.swaps:
		flags = append(flags, "--rehearse", "--keep-shadow")
	default:
		flags = append(flags, "--lock-give-up="+patience.String())
	}
	if a.leavesOut {
		flags = append(flags, "--keep="+a.said.last("where"))
	}
	if a.drops() {
		flags = append(flags, "--drop-old")
	}
	if a.reverses {
		flags = append(flags, "--undo="+keptFor.String(), "--undo-mode=warm")
	}
	if !a.swaps || !a.drops() && !speech.DropsOnlyForeign(a.Alter) {
		flags = append(flags, "--method=shadow")
	}
	return flags
}

// drops reports whether the old table is dropped in the end.
func (a *Asked) drops() bool { return a.dropOld && !a.leavesOut }

// flags are those that say how to reach a server.
func (d DSN) flags() (flags []string) {
	for _, f := range [][2]string{{"host", d.Host}, {"port", d.Port}, {"user", d.User}, {"socket", d.Socket}, {"defaults-file", d.File}} {
		if f[1] != "" {
			flags = append(flags, "--"+f[0]+"="+f[1])
		}
	}
	switch {
	case d.SSL == "0":
		return flags
	case d.CA != "":
		flags = append(flags, "--ssl-mode=VERIFY_CA")
	case d.SSL != "" || d.Cert != "":
		flags = append(flags, "--ssl-mode=REQUIRED")
	}
	for _, f := range [][2]string{{"ca", d.CA}, {"cert", d.Cert}, {"key", d.Key}} {
		if f[1] != "" {
			flags = append(flags, "--ssl-"+f[0]+"="+f[1])
		}
	}
	return flags
}

// address is where a replica is reached.
func (d DSN) address() string {
	host, port := d.Host, d.Port
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = "3306"
	}
	return net.JoinHostPort(host, port)
}

func (r *Replicas) flags() (flags []string) {
	if r.None || r.Only != nil || r.table != nil {
		flags = append(flags, "--find-replicas=false")
	}
	for _, address := range r.Only {
		flags = append(flags, "--replica="+address)
	}
	for _, address := range r.Skip {
		flags = append(flags, "--skip-replica="+address)
	}
	return flags
}
