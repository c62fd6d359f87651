// Package oracle compares two tables completely, for tests of law L11: the definitions, every column of
// every row, and what each index holds. It knows nothing of the engine, so that it cannot share its faults.
// Only tests import it.
package oracle
