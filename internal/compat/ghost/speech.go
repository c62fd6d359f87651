package ghost

import (
	"cmp"
	"strings"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/reach"
)

// says are the flags of midstream run that have others here, in sentences that tell of them.
var says = map[string]string{
	"-p":     "--ask-pass",
	"method": "--attempt-instant-ddl", "method=shadow": "a run without --attempt-instant-ddl",
	"hold": "--postpone-cut-over-flag-file", "cutover-when-gone": "--postpone-cut-over-flag-file",
	"drop-old": "--ok-to-drop-table", "old-name": "--timestamp-old-table", "shadow-name": "--force-table-names",
	"copy-share": "--nice-ratio", "max-replica-lag": "--max-lag-millis", "replica": "--throttle-control-replicas",
	"throttle-file": "--throttle-flag-file", "throttle-url": "--throttle-http",
	"lock-give-up": "--default-retries", "zero-dates": "--allow-zero-in-date",
	"source-replicates": "--assume-master-host", "rehearse": "--test-on-replica", "on-replica": "--test-on-replica",
	"ssl-mode": "--ssl", "defaults-file": "--conf", "defaults-extra-file": "--conf",
}

// newSpeech is how Midstream's own words are said to who has said this.
func (a *Asked) newSpeech() *speech.Speech {
	s := &speech.Speech{Says: says, Own: map[string]bool{}, File: "~/.my.cnf",
		Statement: schema.Shell("ALTER TABLE " + a.Table.Quoted() + " " + a.Alter)}
	for _, f := range Flags() {
		s.Own[f.Name] = true
	}
	s.Connect = a.typed(a.Server, a.User, a.Password != nil || a.AskPassword)
	return s
}

// typed are the flags by which a server is reached, as they can be typed.
func (a *Asked) typed(address, user string, password bool) reach.Flags {
	var typed []string
	for _, flag := range a.connecting(address, user) {
		typed = append(typed, schema.Shell(flag))
	}
	if password {
		typed = append(typed, "-p")
	}
	return reach.Flags(strings.Join(typed, " "))
}

// at has commands reach the server whose table is changed.
func (a *Asked) at(primary string) reach.Flags {
	if primary == a.Server {
		return a.typed(primary, a.User, a.Password != nil || a.AskPassword)
	}
	return a.typed(primary, cmp.Or(a.masterUser, a.User), a.masterPassword != nil || a.Password != nil || a.AskPassword)
}
