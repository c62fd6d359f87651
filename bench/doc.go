// Command bench compares Midstream with the tools that a user could choose instead (make bench). It
// fetches what it needs, runs a throwaway server of its own, and writes JSON, a page and plots to
// bench/results. It proves nothing about correctness: the tests and the demo do.
//
//	packages ► programs        sysbench and pt-online-schema-change, unpacked, not installed
//	modules ► programs         gh-ost and Spirit, built from their Go modules
//	base ► server              one prepared data folder; every run starts a server on a copy of it
//	load, probe, proc          the application, its statements' waits, and who used how much
//	rivals, peers, apply ...   what is measured: each appends to a File
//	report, verdict, plots     made from the Files of a results folder, whenever they were measured
//
// Every run has a fresh server, so that none starts with another's dirty pages, unpurged rows or
// binlogs. The order of the tools rotates from round to round. The report has medians; for ratios,
// it has medians of the ratios within a round. README.md explains each number.
package main
