// Command bench measures Midstream beside the tools a user could pick instead (make bench). It
// fetches what it needs, runs a throwaway server of its own, and writes JSON, a page and plots to
// bench/results. It proves nothing about correctness: that is what the tests and the demo are for.
//
//	packages ► programs        sysbench and pt-online-schema-change, unpacked, not installed
//	base ► server              one prepared data folder; every run starts a server on a copy of it
//	load, probe, proc          the application, its statements' waits, and who used how much
//	peers, apply, variants     what is measured: each appends to a File
//	report, verdict, plots     made from the Files of a results folder, whenever they were measured
//
// Every run has a fresh server, so that none starts with another's dirty pages, unpurged rows or
// binlogs. The order of the tools rotates from round to round, and what is reported are medians, of
// ratios those within a round.
// README.md says what each number is.
package main
