// Package plan decides what one run will do, before anything is written.
//
// facts.Gather reads the facts of the server and the account, schema.Load reads the table, and
// ddl.Parse reads the statement. Make turns them into a Plan, purely: it asks no server. It
// collects every problem before it answers, because an operator must see all of them at once. The
// problems that forbid the run are in a *Refused, the others are the Plan's Risks.
//
// After the shadow has been made and altered, Plan.Columns compares the server's table with the
// reading of the statement, and pairs the columns. A run trusts this second check; the reading of
// the statement only explains it.
//
// A Plan is a value: it goes to JSON and back, and no code changes it. Only
// internal/engine/migration reads it; stages get what they need from there.
package plan
