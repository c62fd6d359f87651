package exit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"midstream/internal/ops/queue"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
)

// Answered is what a run or a service has answered, with its exit code.
func Answered(err error) error {
	var p *socket.Problem
	if !errors.As(err, &p) {
		return err
	}
	code := Failed
	switch p.Status {
	case http.StatusConflict:
		code = NotNow
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusForbidden, http.StatusUnauthorized:
		code = WrongUsage
	}
	return &Error{Code: code, Err: p, Next: p.Next}
}

// Unanswered is the error of a request to the service at a URL, with its exit code.
func Unanswered(ctx context.Context, err error, at string) error {
	var p *socket.Problem
	switch {
	case errors.Is(err, queue.ErrUnnamed):
		return &Error{
			Code: WrongUsage, Err: err, Left: "midstream sent no request",
			Next: "start one by midstream serve, or add --service=https://HOST:8385 --token-file=FILE, which name the service of another machine or user",
		}
	case errors.Is(err, queue.ErrToken):
		return &Error{Code: WrongUsage, Err: err, Left: "midstream sent no request", Next: "check --token-file: midstream serve prints the name of its own token when it begins; one of midstream token is where you have kept it"}
	case errors.Is(err, queue.ErrUnreached) && InterruptedBy(ctx, err):
		return session.ErrInterrupted
	case errors.Is(err, queue.ErrUnreached):
		return &Error{
			Code: Failed,
			Err:  err,
			Left: "the service may or may not have received the request",
			Next: "check that midstream serve runs there, and name it by --service; a submission with --id may be repeated",
		}
	case !errors.As(err, &p):
		return fmt.Errorf("ask the service at %s: %w", at, err)
	case p.Status == http.StatusNotFound:
		return &Error{Code: NoRun, Err: p, Next: p.Next}
	}
	var c *Error
	if errors.As(Answered(p), &c) {
		c.Left = "nothing was changed"
		return c
	}
	return err
}

// Followed is the end of a change that a command has waited for; nil if it is done. err is that of the waiting.
func Followed(ctx context.Context, c queue.Change, err error, at string) error {
	left := Error{Left: "the change stays with the service: its run continues", Next: "midstream queue  " + c.ID + " --wait follows it again"}
	if c.State == queue.StateWaiting || c.State == queue.StateProposed {
		left.Left = "the change stays with the service: it waits for its turn"
		left.Next += "; midstream withdraw  " + c.ID + " takes it out of the queue"
	}
	switch {
	case err != nil && ctx.Err() != nil:
		left.Code, left.Err = Stopped, fmt.Errorf("stopped waiting for change %s", c.ID)
		return &left
	case err != nil && queue.Away(err):
		left.Code, left.Err = Failed, fmt.Errorf("gave up waiting for change %s: %w", c.ID, err)
		return &left
	case err != nil:
		return Unanswered(ctx, err, at)
	}
	code := Failed
	switch {
	case c.ExitCode != nil:
		code = *c.ExitCode
	case c.State == queue.StateUnknown:
		code = Unknown
	case c.State == queue.StateWithdrawn:
		code = Aborted
	}
	if code == Done {
		return nil
	}
	err = fmt.Errorf("change %s is %s: %s", c.ID, c.State, c.Why)
	return &Error{Code: code, Err: err, Left: "see midstream queue  " + c.ID, Next: c.Next}
}
