// Package foreign explains flags of other tools to users who give them to midstream.
package foreign

import (
	"slices"
	"strings"

	"midstream/internal/compat/ghost"
	"midstream/internal/compat/ptosc"
)

const (
	plans   = "midstream plan prints what a run would do, and changes nothing"
	runs    = "midstream run changes the table without such a flag; midstream plan changes nothing"
	chunks  = "a run finds the size of its chunks by itself; --chunk-time limits the time of one"
	giveUps = "--lock-give-up and --lock-attempts limit the attempts at the cut-over"
	settles = "midstream undo takes a change back if the run had --undo=24h"
)

// ours are flags of gh-ost, pt-online-schema-change, Spirit, LHM and others, with what serves their purpose here.
var ours = map[string]string{
	"dry-run": plans, "noop": plans, "execute": runs, "x": runs,
	"max-lag": "--max-replica-lag", "max-lag-millis": "--max-replica-lag (250ms, 10s, ...)", "replica-max-lag": "--max-replica-lag",
	"check-replica-lag": "--replica", "check-slave-lag": "--replica", "throttle-control-replicas": "--replica",
	"chunk-size": chunks, "chunk-size-limit": chunks, "target-chunk-time": "--chunk-time", "nice-ratio": "--max-slowdown or --copy-share",
	"sleep": "--max-slowdown or --copy-share", "threads": "--workers", "concurrency": "--workers", "write-threads": "--apply-workers",
	"throttle-flag-file": "--throttle-file", "throttle-additional-flag-file": "--throttle-file", "pause-file": "--throttle-file",
	"throttle-http": "--throttle-url", "panic-flag-file": "midstream abort ends a run", "postpone-cut-over-flag-file": "--cutover-when-gone, or --hold",
	"defer-cutover": "--hold", "postpone-cut-over": "--hold", "cut-over-lock-timeout-seconds": "--lock-wait", "lock-wait-timeout": "--lock-wait",
	"set-vars": "--lock-wait limits how long a query may wait", "default-retries": giveUps, "tries": giveUps, "cut-over-exponential-backoff": giveUps,
	"serve-socket-file": "--control-dir", "drop-old-table": "--drop-old", "ok-to-drop-table": "--drop-old", "initially-drop-old-table": "midstream cleanup --old",
	"ask-pass": "-p asks for the password", "statement": "give the statement as an argument, in quotes", "test-on-replica": "--on-replica",
	"migrate-on-replica": "--on-replica", "force-table-names": "--old-name and --shadow-name", "new-table-name": "--shadow-name",
	"hooks-path": "--hook", "checksum": "a run compares all rows before the cut-over; --no-verify leaves that out", "revert": settles,
	"strict": "a run resumes only the work of the same change", "resume": "the same command resumes a run that kept its work", "history": "a run keeps a history; midstream report shows it",
	"timestamp-old-table": "--old-name", "attempt-instant-ddl": "--method=instant; the default chooses INSTANT if that is possible",
	"critical-load-interval-millis": "--critical-load needs two samples in a row", "alter-foreign-keys-method": "foreign keys are carried over; --together changes both ends",
}

// Explained is what serves the purpose of a flag that midstream run does not have; "" if no known tool has it.
func Explained(flag string) string {
	if text := ours[flag]; strings.HasPrefix(text, "-") {
		return "use " + text
	} else if text != "" {
		return text
	}
	if slices.ContainsFunc(ptosc.Options(), func(o ptosc.Option) bool { return o.Name == flag }) {
		return "it is an option of pt-online-schema-change: docs/pt-osc-flags.md describes what it becomes here"
	}
	if slices.ContainsFunc(ghost.Flags(), func(f ghost.Flag) bool { return f.Name == flag }) {
		return "it is a flag of gh-ost: docs/gh-ost-flags.md describes what it becomes here"
	}
	return ""
}
