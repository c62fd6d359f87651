package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrRefused means that the plan forbids the run. Nothing has been written.
var ErrRefused = errors.New("refused by plan")

// Code names a kind of risk; codes are stable.
type Code string

// Risk is one thing that an operator should know or must fix.
type Risk struct {
	Code Code
	What string // the finding, with names
	Why  string // why it matters
	// Fix is what to do next: a statement or a command, if there is one.
	Fix string
	// Blocking forbids the run.
	Blocking bool
}

// String returns the risk in one line.
func (r Risk) String() string {
	text := r.What
	if r.Why != "" {
		text += ": " + r.Why
	}
	if r.Fix != "" {
		text += ". " + r.Fix
	}
	return text
}

// Refused is the error of a plan that can't be made. It holds every problem that blocks the plan,
// found at once.
type Refused struct {
	Table string
	// Blocking are the reasons, each with Blocking set.
	Blocking []Risk
	// Others are the risks that would not forbid the run.
	Others []Risk
}

// Summary lists the refused things, without the reasons.
func (r *Refused) Summary() string {
	return fmt.Sprintf("cannot change %s: %s; nothing was written", r.Table, count(len(r.Blocking), "problem"))
}

// Error lists every reason on a line of its own.
func (r *Refused) Error() string {
	var b strings.Builder
	b.WriteString(r.Summary())
	for _, risk := range r.Blocking {
		b.WriteString("\n- " + risk.String())
	}
	return b.String()
}

// Is makes errors.Is(err, ErrRefused) true.
func (r *Refused) Is(target error) bool { return target == ErrRefused }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// LacksKey reports whether a plan was refused because no key can be followed.
func LacksKey(err error) bool {
	var refused *Refused
	return errors.As(err, &refused) && slices.ContainsFunc(refused.Blocking, func(r Risk) bool { return r.Code == CodeNoKey })
}
