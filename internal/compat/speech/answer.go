package speech

import "errors"

// Answer answers a command line that asks for no run, as the error of its reading says, and returns the exit code. Told is
// something to read, and Wrong is what is wrong with the line; other makes that of any other error.
func Answer[Told, Wrong error](err error, tell func(Told) int, refuse func(Wrong) int, other func(text string) Wrong) int {
	var told Told
	if errors.As(err, &told) {
		return tell(told)
	}
	var wrong Wrong
	if !errors.As(err, &wrong) {
		wrong = other(err.Error())
	}
	return refuse(wrong)
}
