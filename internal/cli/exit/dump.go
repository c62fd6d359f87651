package exit

import (
	"context"
	"errors"

	"midstream/internal/engine/dump"
)

// Undumped is the error of a dump.
func Undumped(ctx context.Context, err error) error {
	var refused *dump.Refused
	var unfinished *dump.Unfinished
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		next := "look at the files, then use --force to replace them, or another folder with --out"
		return &Error{Code: Refused, Err: err, Left: "nothing was written", Next: next}
	case errors.As(err, &unfinished):
		next := "run the same command again once the cause is removed"
		return &Error{Code: Failed, Err: err, Left: "each file is unchanged or complete", Next: next}
	}
	return Unwritten(ctx, err, "")
}
