package speech

import "testing"

// TestSpeech: what midstream says of its own flags is said in the other program's, where it has
// such a one; else of the option file that both read. Commands of midstream are told in full.
func TestSpeech(t *testing.T) {
	s := &Speech{
		Says: map[string]string{
			"hold":          "--postpone-cut-over-flag-file",
			"method=shadow": "a run without --attempt-instant-ddl",
			"-p":            "--ask-pass",
		},
		Own:       map[string]bool{"max-load": true, "hooks-path": true, "chunk-time": true},
		Ours:      func(name string) bool { return name != "read-only" },
		Connect:   "--host=db1 --user=ann -p",
		Statement: "'ALTER TABLE t FORCE'",
		File:      "~/.my.cnf",
	}
	for text, want := range map[string]string{
		"nothing to say": "nothing to say",
		"Change it together with the swap: --hold delays the swap until midstream cutover": "Change it together with the swap: --postpone-cut-over-flag-file delays the swap until midstream cutover",
		"Choose a time without long transactions, or --method=shadow, which waits.":        "Choose a time without long transactions, or a run without --attempt-instant-ddl, which waits.",
		"say --method=inplace or --method=shadow":                                          "say method=inplace in [midstream] of ~/.my.cnf or a run without --attempt-instant-ddl",
		"at most (--chunk-size of midstream run), in exact ranges":                         "at most (chunk-size in [midstream] of ~/.my.cnf), in exact ranges",
		"--chunk-time of midstream run, --max-load and --hooks-path: no":                   "--chunk-time, --max-load and --hooks-path: no",
		"or --unseen-replicas=ignore.":                                                     "or unseen-replicas=ignore in [midstream] of ~/.my.cnf.",
		"is running with the --read-only option":                                           "is running with the --read-only option",
		"check the password (-p asks for it)":                                              "check the password (--ask-pass asks for it)",
		"what-p and a--hold":                                                               "what-p and a--hold",
		"Remove it with: midstream cleanup  --old shop.orders":                             "Remove it with: midstream cleanup --host=db1 --user=ann -p --old shop.orders",
		"or midstream cleanup  'a b.c': both":                                              "or midstream cleanup --host=db1 --user=ann -p 'a b.c': both",
		"or midstream cleanup  $'a b\\012.c'":                                              "or midstream cleanup --host=db1 --user=ann -p $'a b\\012.c'",
		"midstream cleanup --old would drop it":                                            "midstream cleanup --old would drop it",
		"run the rest: midstream run  'ALTER TABLE t FORCE'":                               "run the rest: midstream run --host=db1 --user=ann -p 'ALTER TABLE t FORCE'",
		"Look first: midstream check  \"ALTER TABLE ...\" lists every row":                 "Look first: midstream check --host=db1 --user=ann -p 'ALTER TABLE t FORCE' lists every row",
		"midstream cutover --now does not wait; midstream resume":                          "midstream cutover --now does not wait; midstream resume",
		"another run of midstream works on it":                                             "another run of midstream works on it",
	} {
		if got := s.Of(text); got != want {
			t.Errorf("%s:\n%s\ninstead of\n%s", text, got, want)
		}
		if got := (*Speech)(nil).Of(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
