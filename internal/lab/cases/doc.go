// Package cases runs the small cases of testdata, each a folder of SQL and an expected outcome, with the program
// itself on real servers. Many come from public bug reports of schema change tools. Only tests are in it.
//
// A folder has setup.sql (run as root; SET GLOBAL holds for later connections), create.sql, alter, during.sql
// (run while the run is held before its swap), teardown.sql, expect, and versions. The table is t, unless the file
// table names it; the account is root's, unless the file account names it. The file says holds words that the output
// of the program must contain. An outcome is one of, separated by " | ":
//
//   - equal: exit code 0, and the table equals one that the server's own ALTER changed, in a session with the
//     server's own settings, after the same statements.
//   - refused: exit code 11, or 17 for rows. The table is unchanged, and nothing is left.
//   - SELECT ... => value: exit code 0, and the query gives the value.
package cases
