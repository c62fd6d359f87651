package ptosc

import (
	"cmp"
	"strings"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/reach"
)

// newSpeech is how Midstream's own words are said to who has said this.
func (a *Asked) newSpeech() *speech.Speech {
	s := &speech.Speech{
		Own:       map[string]bool{},
		File:      cmp.Or(a.Server.File, "~/.my.cnf"),
		Statement: schema.Shell("ALTER TABLE " + a.Table.Quoted() + " " + a.Alter),
		Says: map[string]string{
			"-p":              "--ask-pass",
			"method=shadow":   "a run with --no-drop-old-table",
			"hold":            "midstream hold  " + a.Table.Argument(),
			"drop-old":        "--drop-old-table",
			"shadow-name":     "--new-table-name",
			"copy-share":      "--sleep",
			"max-replica-lag": "--max-lag",
			"replica":         "--check-replica-lag",
			"skip-replica":    "--skip-check-replica-lag",
			"find-replicas":   "--recursion-method",
			"throttle-file":   "--pause-file",
			"lock-give-up":    "--tries",
			"rehearse":        "--no-swap-tables",
			"keep-shadow":     "--no-drop-new-table",
			"ssl-mode":        "--mysql_ssl",
		},
	}
	for _, o := range Options() {
		s.Own[o.Name] = true
	}
	var typed []string
	for _, flag := range a.Server.flags() {
		typed = append(typed, schema.Shell(flag))
	}
	if a.Server.Password != nil || a.AskPassword {
		typed = append(typed, "-p")
	}
	s.Connect = reach.Flags(strings.Join(typed, " "))
	return s
}
