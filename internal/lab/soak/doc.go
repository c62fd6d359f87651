// Package soak has the tests that need minutes and gigabytes each: transactions beyond 1 GB,
// and binlog files beyond 4 GiB, read by a run. It has no other code. make soak runs them;
// make test does not.
package soak
