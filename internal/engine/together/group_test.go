package together

import (
	"context"
	"errors"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestTheFirstErrorIsThatOfTheGroup: one member fails while the others are in the midst of something. Only its error is one of its own.
func TestTheFirstErrorIsThatOfTheGroup(t *testing.T) {
	t.Parallel()
	cause := errors.New("the row does not fit")
	g := New([]schema.Name{{Schema: "s", Table: "a"}, {Schema: "s", Table: "b"}, {Schema: "s", Table: "c"}})
	errs := g.Run(t.Context(), func(ctx context.Context, i int) error {
		if i == 1 {
			return cause
		}
		<-ctx.Done()
		return ctx.Err() // as a query does that is under way
	})
	for i, err := range errs {
		var ended *Ended
		if is := errors.As(err, &ended); is != (i != 1) || is && ended.Table.Table != "b" || !errors.Is(err, cause) {
			t.Errorf("member %d: %v", i, err)
		}
	}
}

// TestL9_AMemberThatBlamesAnotherIsNotBlamed: the swap has ended a member because of another one, which writes its own error later. That is
// the error of the group.
func TestL9_AMemberThatBlamesAnotherIsNotBlamed(t *testing.T) {
	t.Parallel()
	cause := errors.New("the row does not fit")
	g := New([]schema.Name{{Schema: "s", Table: "a"}, {Schema: "s", Table: "b"}, {Schema: "s", Table: "c"}})
	told := make(chan struct{})
	errs := g.Run(t.Context(), func(ctx context.Context, i int) error {
		switch i {
		case 0:
			defer close(told)
			return &Ended{Table: g.tables[1], Err: cause}
		case 1:
			<-told
			<-ctx.Done()
			return cause
		}
		<-ctx.Done()
		return ctx.Err()
	})
	for i, err := range errs {
		var ended *Ended
		if is := errors.As(err, &ended); is != (i != 1) || is && ended.Table.Table != "b" || !errors.Is(err, cause) {
			t.Errorf("member %d: %v", i, err)
		}
	}
}
