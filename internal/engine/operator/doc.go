// Package operator is what an operator may change while a run is at work, and how a run obeys.
//
// Settings are the values that may change; each has a name, a range and a help text (Setting).
// A Control has the settings that hold now, the pause, and the hold of the swap. It outlives the
// attempts of a run that has lost its server. It commands a Run, which knows what its stages have
// to do when settings change. A Permission is how a run waits until it may change the table.
package operator
