// Package layout holds the shape of the code by tests: the imports between packages, the one
// importer of each library, and the sizes of files and functions.
// It has no code.
package layout
