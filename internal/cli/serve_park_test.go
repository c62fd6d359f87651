package cli

import (
	"net/http"
	"strings"
	"testing"

	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// TestThePageOffersNoUselessFlagForAnUndo: the page of a change offers to leave out rows that do not fit only if the undo can do that:
// not if the server alters the table back, and not for a DROP.
func TestThePageOffersNoUselessFlagForAnUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	for _, c := range []struct {
		id, statement, method string
		offers                bool
	}{
		{"copied", "ALTER TABLE " + q.name + " MODIFY a BIGINT", "shadow", true},
		{"native", "ALTER TABLE " + q.name + " ADD INDEX by_b (b(10))", "auto", false},
		{"dropped", "DROP TABLE " + q.name, "auto", false},
	} {
		if code, stdout, stderr := q.ask("submit", c.statement, "--server=main", "--id="+c.id,
			"--option=undo=1h", "--option=end-undo", "--option=method="+c.method); code != exitDone {
			t.Fatal(stdout, stderr)
		}
		q.becomes(c.id, queue.StateDone)
		q.undoIs(c.id, string(leftovers.UndoOpen))
		_, page := q.http("GET", "/changes/"+c.id, "")
		shown := strings.Contains(page, `<label class="check"><input type="checkbox" id="undo-park">`)
		if hidden := strings.Contains(page, `<label class="check" hidden><input type="checkbox" id="undo-park">`); shown != c.offers || hidden == c.offers {
			t.Errorf("%s: shown %v, hidden %v", c.id, shown, hidden)
		}
	}
	if status, text := q.http("POST", "/v1/changes/dropped/undo", "{}"); status != http.StatusCreated && status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	q.becomes("dropped-undo", queue.StateDone)
	if code, stdout, stderr := midstream(t, append([]string{"undo", "--end", q.name}, flags(t, q.i)...)...); code != exitDone {
		t.Error(stdout, stderr)
	}
}
