package cutover

import (
	"context"
	"testing"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/mysql/schema"
)

// TestL9_WhatIsLeftOfTheBudgetIsForSettling: more time for the work under the lock (--lock-work) is
// also more time for the statements after the RENAME. They get what is left of it, and at least
// their minimum.
func TestL9_WhatIsLeftOfTheBudgetIsForSettling(t *testing.T) {
	triggers := Tables{Carried: carry.Set{Triggers: make([]schema.Trigger, 1)}}
	for _, c := range []struct {
		work, used, least, most time.Duration
	}{
		{10 * time.Second, 2 * time.Second, 7 * time.Second, 8 * time.Second},
		{250 * time.Millisecond, 200 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond},
	} {
		a := &swapAttempt{underLock: underLock{budget: Budget{Work: c.work}, granted: time.Now().Add(-c.used)}}
		_ = a.inRestOfBudget(t.Context(), &part{Part: Part{Tables: triggers}}, func(bounded context.Context) error {
			end, _ := bounded.Deadline()
			if left := time.Until(end); left < c.least || left > c.most {
				t.Errorf("of %s, with %s used, %s are left", c.work, c.used, left)
			}
			return nil
		})
	}
}
