package session

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestL9_AnUndoThatIsGoneIsNotOpen: an undo whose change was taken back, or whose undo was ended, since it was planned does not
// report that it is open.
func TestL9_AnUndoThatIsGoneIsNotOpen(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		p := &plan.Plan{Source: &schema.Table{Name: schema.Name{Schema: "shop", Table: "orders"}}, Back: &plan.Back{Native: native}}
		f := &failure.Failure{Err: fmt.Errorf("begin: %w", leftovers.ErrOvertaken), Left: "left", Next: "next"}
		if err := UndoFailed(t.Context(), nil, p, f); err != error(f) || strings.Contains(f.Left, "open") || !strings.Contains(f.Next, "undo  --list shop.orders") {
			t.Errorf("native %t: %v; %s; %s", native, err, f.Left, f.Next)
		}
	}
}
