// Package plan decides what one run will do, before anything is written.
//
// facts.Gather reads the facts of the server and the account, schema.Load those of the
// table and ddl.Parse the statement. Make turns them into a Plan, purely: it asks no
// server. It collects every problem before it answers, so that an operator sees all
// of them at once; those that forbid the run are in a *Refused, the others are the
// Plan's Risks.
//
// After the shadow has been made and altered, Plan.Columns compares what the server
// made with what the statement was read to say, and pairs the columns. This second
// look is what a run trusts; the reading of the statement only explains it.
//
// A Plan is a value: it goes to JSON and back, and nobody writes to it. Only
// internal/engine/migration reads it; stages get what they need from there.
package plan
