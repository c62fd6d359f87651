// Package differ is the differential test of law L11: random tables, rows, ALTERs, settings of the server and writes
// during the run. Each case is changed by a run, and its twin in another database, which gets the same writes, by
// the server's own ALTER. Package oracle compares the two.
//
// A case follows from a seed, its number and the version of the server alone: `make differ DIFFER="-versions 9.7
// -seed 7 -case 123"` runs the same case again, and with -reduce prints the smallest case that still fails. Settings
// of the server are global, so that all cases of a batch have the same ones. Only tests are in the package.
package differ
