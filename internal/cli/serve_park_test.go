package cli

import (
	"net/http"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// TestThePageOffersNoUselessFlagForAnUndo: the page of a change offers to leave out rows that do not fit only if the undo can do that:
// not if the server alters the table back, and not for a DROP. It says what becomes of the table then.
func TestThePageOffersNoUselessFlagForAnUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	for _, c := range []struct {
		id, statement, method string
		offers                bool
		gives                 string
	}{
		{"copied", "ALTER TABLE " + q.name + " MODIFY a BIGINT", "shadow", true, "The table gets the definition from before this change, and keeps every write since."},
		{"native", "ALTER TABLE " + q.name + " ADD INDEX by_b (b(10))", "auto", false, "The table gets the definition from before this change, and keeps every write since."},
		{"renamed", "RENAME TABLE " + q.name + " TO " + q.name + "2", "auto", false, "The tables get their former names back. No row changes."},
		{"emptied", "TRUNCATE TABLE " + q.name, "auto", false, "The table gets the rows from before the TRUNCATE back."},
		{"dropped", "DROP TABLE " + q.name, "auto", false, "The table comes back, with its rows."},
	} {
		if code, stdout, stderr := q.ask("submit", c.statement, "--server=main", "--id="+c.id,
			"--option=undo=1h", "--option=end-undo", "--option=method="+c.method); code != exit.Done {
			t.Fatal(stdout, stderr)
		}
		q.becomes(c.id, queue.StateDone)
		q.undoIs(c.id, string(leftovers.UndoOpen))
		_, page := q.http("GET", "/changes/"+c.id, "")
		shown := strings.Contains(page, `<label class="check"><input type="checkbox" id="undo-park">`)
		if hidden := strings.Contains(page, `<label class="check" hidden><input type="checkbox" id="undo-park">`); shown != c.offers || hidden == c.offers {
			if c.id != "emptied" || !strings.Contains(page, `id="undo-merge"`) { // which has another flag instead
				t.Errorf("%s: shown %v, hidden %v", c.id, shown, hidden)
			}
		}
		contains(t, page, `<p id="undo-keeps">`+c.gives+`</p>`)
		if c.id == "renamed" {
			if status, text := q.http("POST", "/v1/changes/renamed/undo", "{}"); status != http.StatusCreated && status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			}
			q.becomes("renamed-undo", queue.StateDone)
			q.undoIs("renamed-undo", string(leftovers.UndoOpen))
			_, page := q.http("GET", "/changes/renamed-undo", "")
			contains(t, page, `<p id="undo-keeps">The tables are renamed again. No row changes.</p>`)
		}
	}
	if status, text := q.http("POST", "/v1/changes/dropped/undo", "{}"); status != http.StatusCreated && status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	q.becomes("dropped-undo", queue.StateDone)
	q.undoIs("dropped-undo", string(leftovers.UndoOpen))
	_, page := q.http("GET", "/changes/dropped-undo", "")
	contains(t, page, `<p id="undo-keeps">The table is dropped again. Its rows are kept in another table.</p>`)
	if code, stdout, stderr := midstream(t, append([]string{"undo", "--end", q.name}, flagsTo(t, q.i)...)...); code != exit.Done {
		t.Error(stdout, stderr)
	}
}
