// Package metrics gives Prometheus the state of runs: a Run takes the events of one run, and a
// Union gathers several processes.
//
// Names begin with midstream_ and follow Prometheus's conventions: base units (seconds, bytes,
// ratios from 0 to 1), and _total for counters. A counter begins at zero again with each attempt of
// a run that has lost its server. An unknown value has no sample, rather than a zero. Labels are
// bounded: their values come from lists in the code, except table and server, which are the same in
// all metrics of a run. OfRuns and OfQueues describe all metrics; docs/metrics.md is made from them.
package metrics
