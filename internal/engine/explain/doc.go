// Package explain asks the server how it would run the application's queries on the new table, before the swap.
//
//	samples.go  the queries that take the most time, from performance_schema.events_statements_summary_by_digest
//	access.go   what EXPLAIN FORMAT=JSON says of a table: how it is read, by which index, at which cost
//	run.go      both tables, query by query, and what is worse
//
// Only EXPLAIN runs, never a query. The samples are the server's (QUERY_SAMPLE_TEXT, MySQL 8.0 and later): one text for each kind of
// statement, with the values that it had. Other values may get another plan. The result is a hint and never a veto.
package explain
