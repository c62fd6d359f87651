// Package layout holds the shape of the code by tests: which package may import which,
// who alone imports a library, and how long files and functions may grow. It has no code.
package layout
