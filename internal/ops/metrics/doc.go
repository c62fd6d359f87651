// Package metrics gives Prometheus the state of runs: a Run takes the events of one run, and a
// Union gathers several processes.
//
// Names begin with midstream_ and follow Prometheus's conventions: base units (seconds, bytes,
// ratios from 0 to 1), _total for what only grows. It begins at zero again with each attempt of a
// run that has lost its server. What is not known has no sample, rather than a zero. Labels are
// bounded: every one has the words of a list in the code, but for table and server, of which a run
// has one each. docs/metrics.md is made of Described.
package metrics
