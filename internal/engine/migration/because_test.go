package migration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"midstream/internal/engine/cutover"
)

// TestL9_UnknownOutcomeStaysKnown: an abort does not hide that it is unknown whether the tables
// were swapped.
func TestL9_UnknownOutcomeStaysKnown(t *testing.T) {
	enough, broken := errors.New("enough"), errors.New("broken")
	unknown := fmt.Errorf("cut-over: %w", cutover.ErrUnknown)
	going := t.Context()
	aborted, abort := context.WithCancelCause(going)
	abort(enough)
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{going, nil, nil}, {going, broken, broken}, {going, unknown, unknown},
		{aborted, nil, nil}, {aborted, broken, enough}, {aborted, context.Canceled, enough}, {aborted, unknown, unknown},
	} {
		if err := Because(c.ctx, c.err); err != c.want {
			t.Errorf("%v: %v instead of %v", c.err, err, c.want)
		}
	}
}
