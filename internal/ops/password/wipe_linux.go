package password

import "unsafe"

// Wipe overwrites the end of an argument of this process, from an offset on, in the
// memory that ps shows: an x and zeros, as MySQL's clients do.
//
// REQUIRES: arg is an element of os.Args, which the runtime makes of the process's own
// argument memory without copying (TestPasswordIsNotInPs would tell if it did). Until
// this has run, a few milliseconds after the start, the password can be seen.
func Wipe(arg string, from int) {
	if from >= len(arg) {
		return
	}
	memory := unsafe.Slice(unsafe.StringData(arg), len(arg))
	clear(memory[from:])
	memory[from] = 'x'
}
