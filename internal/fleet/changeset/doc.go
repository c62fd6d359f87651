// Package changeset reads and writes the file of a change set, in YAML.
//
// It is strict, because a key that is not read is a rule that does not hold: unknown and repeated keys, values
// of another kind, and words that YAML 1.1 and 1.2 read differently are errors. Each names its line, what is
// wrong, why, and what to do; all errors of a file are reported at once.
package changeset
