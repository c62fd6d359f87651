package report

import (
	"bytes"
	"strings"
	"testing"

	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// TestAReportHasTheFlagsOfItsRun: who reads a report reaches the server of its run.
func TestAReportHasTheFlagsOfItsRun(t *testing.T) {
	run := record.Run{Table: "shop.orders", Undoes: true, Reach: "--host=db1 --user=dba"}
	r := Of(&history.Story{Run: run, Result: &record.Result{Outcome: "done", Old: "shop.orders_old", Next: "Compare: midstream verify --host=db1 --user=dba a.b a.c"}})
	var text, page bytes.Buffer
	if err := r.Markdown(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{text.String(), page.String()} {
		for _, want := range []string{
			"midstream undo --host=db1 --user=dba shop.orders", "midstream cleanup --host=db1 --user=dba --old shop.orders",
			"midstream verify --host=db1 --user=dba a.b a.c",
		} {
			if !strings.Contains(form, want) {
				t.Errorf("%q is missing in\n%s", want, form)
			}
		}
	}
}
