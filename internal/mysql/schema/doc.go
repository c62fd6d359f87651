// Package schema holds what the engine knows of a table: its name, columns and
// keys, and the facts around it (triggers, foreign keys, size).
//
// The types are plain values, read once by Load and never changed afterwards.
// The package knows no SQL driver: Load takes any *sql.DB or *sql.Conn.
package schema
