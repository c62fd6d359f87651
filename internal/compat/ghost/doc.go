// Package ghost takes the command line of gh-ost 1.1.9 and shows a run in that program's words,
// so that scripts can call Midstream instead.
//
//	arguments, --conf ─► Read ─► Asked ─► flags of midstream run ─► cli
//	                               │                                 │
//	           Find: the primary of the server that was named       │
//	                                                                 │
//	      standard output, standard error, exit code ◄─ Speaker ◄─ plan, events, result, error
//
// Drive orders the steps of a run (speech.Steps); cli takes them as for midstream run. What becomes of
// each flag stands in one table (Flags), of which docs/gh-ost-flags.md is made.
//
// Nothing of that program's code is in here. Its words are, where scripts look for them.
package ghost
