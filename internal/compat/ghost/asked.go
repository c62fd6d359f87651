package ghost

import (
	"fmt"
	"net"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Asked is what a command line asks for.
type Asked struct {
	Execute bool // else all is only looked at
	Table   schema.Name
	Alter   string
	// Server is that of --host, as host:port. The one whose table is changed is found by Find.
	Server string
	User   string // "": that of option files, or the login name
	// Password is nil where none was said. AskPassword says that it is to be asked for.
	Password    *dbconn.Secret
	AskPassword bool
	// Began is the time of the run.
	Began time.Time
	// Notes tell what has no meaning here.
	Notes []string

	said           said
	master         string // host:port, of --assume-master-host
	masterUser     string
	masterPassword *dbconn.Secret
	replicas       []string // host:port, of --throttle-control-replicas
	shadow, old    string   // names of tables
	safely         bool     // the plan names the old table
}

// quiet and verbose say how much is told.
func (a *Asked) quiet() bool   { return a.said.on("quiet") }
func (a *Asked) verbose() bool { return !a.quiet() && (a.said.on("verbose") || a.said.on("debug")) }

// KeepOnSignal says that a run that a signal ends keeps its work.
func (a *Asked) KeepOnSignal() bool { return a.said.on("checkpoint") || a.said.on("resume") }

// Resumes says that the run is to go on with one that was stopped.
func (a *Asked) Resumes() bool { return a.said.on("resume") }

// Connecting are the flags of midstream run that say how to reach the server of --host, and the database.
func (a *Asked) Connecting() []string {
	return append(a.connecting(a.Server, a.User), "--database="+a.Table.Schema)
}

func (a *Asked) connecting(address, user string) []string {
	host, port, _ := net.SplitHostPort(address) // Read has put it together
	flags := []string{"--host=" + host, "--port=" + port}
	if user != "" {
		flags = append(flags, "--user="+user)
	}
	switch {
	case a.said.on("ssl") && a.said.on("ssl-allow-insecure"):
		flags = append(flags, "--ssl-mode=REQUIRED")
	case a.said.on("ssl"):
		flags = append(flags, "--ssl-mode=VERIFY_IDENTITY")
	}
	for _, name := range []string{"ssl-ca", "ssl-cert", "ssl-key"} {
		if path := a.said.text(name); path != "" {
			flags = append(flags, "--"+name+"="+path)
		}
	}
	return flags
}

// Flags are those of midstream run that ask for the same, but for what follows from the servers.
func (a *Asked) Flags() []string {
	flags := a.Connecting()
	add := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	switch {
	case a.Reverts():
		add("--old-name=%s", a.old)
	default:
		add("--table=`%s`", strings.ReplaceAll(a.Table.Table, "`", "``"))
		add("--alter=%s", a.Alter)
		if a.Tries() {
			flags = append(flags, "--rehearse", "--on-replica", "--rehearse-lock", "--keep-shadow")
			break
		}
		add("--shadow-name=%s", a.shadow)
		add("--old-name=%s", a.old)
	}
	if a.keeps() {
		add("--undo=%s", keptFor)
		flags = append(flags, "--undo-method=auto") // that program goes on if its revert will not be possible
	}
	if ratio := a.said.number("nice-ratio"); ratio > 0 {
		add("--copy-share=%s", copyShare(ratio))
	}
	add("--max-replica-lag=%s", lagOf(a.said.number("max-lag-millis")))
	load, critical := a.loads(a.said.text("max-load"), a.said.text("critical-load"))
	for _, f := range [][2]string{{"max-load", load}, {"critical-load", critical}, {"throttle-file", a.said.text("throttle-flag-file")},
		{"throttle-file", a.said.text("throttle-additional-flag-file")}, {"throttle-query", a.said.text("throttle-query")}, {"throttle-url", a.said.text("throttle-http")},
		{"cutover-when-gone", a.said.text("postpone-cut-over-flag-file")}} {
		if f[1] != "" {
			add("--%s=%s", f[0], f[1])
		}
	}
	if a.said.text("hooks-path") != "" {
		flags = append(flags, "--hold") // until Hooks lets it go
	}
	for _, replica := range a.replicas {
		add("--replica=%s", replica)
	}
	if a.said.on("allow-zero-in-date") {
		flags = append(flags, "--zero-dates")
	}
	return append(flags, a.ways()...)
}

// loads are the bounds above which a run waits, and above which it ends, of what was said of both.
func (a *Asked) loads(most, critical string) (waits, ends string) {
	if a.said.number("critical-load-hibernate-seconds") > 0 {
		return strings.Trim(most+","+critical, ","), ""
	}
	return most, critical
}

// ways are the flags that say by which method, how long the swap is tried, and what becomes of the old table.
func (a *Asked) ways() []string {
	flags := []string{"--lock-give-up=" + a.patience().String()}
	drops := a.drops()
	if drops {
		flags = append(flags, "--drop-old")
	}
	switch instant := a.said.on("attempt-instant-ddl"); {
	case a.Reverts():
	case !a.Tries() && speech.DropsOnlyForeign(a.Alter): // no new table could have them until the swap
	case !instant || a.Tries():
		flags = append(flags, "--method=shadow")
	case !drops: // what builds the table would leave no old one
		flags = append(flags, "--native-max-lock=1ns", "--native-max-build=1ns", "--native-max-replica-stall=1ns")
	}
	return flags
}

// patience is for how long that program would try to swap the tables: as often as --default-retries
// says, each time for as long as it holds its lock at most, with a pause between.
func (a *Asked) patience() time.Duration {
	tries, each := a.said.number("default-retries"), a.said.number("cut-over-lock-timeout-seconds")
	seconds := tries * (each + 1)
	if a.said.on("cut-over-exponential-backoff") {
		seconds = tries * each
		for n, wait := 0.0, 1.0; n < tries; n, wait = n+1, wait*2 {
			most := a.said.number("exponential-backoff-max-interval")
			if wait >= most {
				seconds += (tries - n) * most
				break
			}
			seconds += wait
		}
	}
	return time.Duration(min(max(seconds, 1), 86400)) * time.Second
}
