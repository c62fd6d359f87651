// Package ptosc takes the command line of pt-online-schema-change 3.7 and shows a run in that
// program's words, so that scripts can call Midstream instead.
//
//	arguments, option files ─► Read ─► Asked ─► flags of midstream run ─► cli
//	                                                                      │
//	      standard output, standard error, exit code ◄─ Speaker ◄─ plan, events, result, error
//
// Drive orders the steps of a run (speech.Steps); cli takes them as for midstream run. What becomes of
// each option stands in one table (options.go), of which docs/pt-osc-flags.md is made: it does the
// same, or is taken with a note since it has no meaning here, or is refused, with the reason.
//
// Nothing of that program's code is in here. Its words are, where scripts look for them.
package ptosc
