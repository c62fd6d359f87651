// Package operator is what an operator may change while a run is at work, and how a run obeys.
//
// Settings are the values that may change; each has a name, a range and a help text (Setting). A
// Control has the present settings, the pause, and the hold of the swap. It outlives the attempts
// of a run that has lost its server. It commands a Run. The Run passes changed settings on to its
// stages. A Permission makes a run wait until it may change the table.
package operator
