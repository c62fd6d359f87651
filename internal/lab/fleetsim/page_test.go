package fleetsim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"midstream/internal/fleet/rollout"
)

var updateFlag = flag.Bool("update", false, "write the generated parts of docs/change-sets.md")

// laws are those of laws.go, in the order of the page.
var laws = []string{
	lawLimits, lawPlan, lawWaves, lawStop, lawTwice, lawFrozen, lawGate, lawRelease, lawBarrier, lawUndo, lawCancel,
	lawResult, lawWaits, lawEnds,
}

// TestFleetPage: docs/change-sets.md has the states, the laws and the broken rules of the code.
func TestFleetPage(t *testing.T) {
	const page = "../../../docs/change-sets.md"
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	set, member := rollout.Diagrams()
	text := replace(t, string(before), "fleet", fmt.Sprintf("A set:\n\n```mermaid\n%s```\n\nA member:\n\n```mermaid\n%s```\n", set, member))
	var b strings.Builder
	b.WriteString("These laws hold after every step:\n\n")
	for _, law := range laws {
		fmt.Fprintf(&b, "- %s.\n", upper(law))
	}
	fmt.Fprintf(&b, "\nEach of these %d broken rules is found:\n\n", len(mutations))
	for _, m := range mutations {
		fmt.Fprintf(&b, "- %s.\n", upper(m.rule))
	}
	text = replace(t, text, "laws", b.String())
	if *updateFlag {
		err = os.WriteFile(page, []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	} else if text != string(before) {
		t.Error("docs/change-sets.md differs from the code: go test ./internal/lab/fleetsim -run TestFleetPage -update")
	}
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// replace puts a text between two marks.
func replace(t *testing.T, page, mark, text string) string {
	t.Helper()
	begin := "<!-- " + mark + ": go test ./internal/lab/fleetsim -run TestFleetPage -update -->\n"
	head, rest, is := strings.Cut(page, begin)
	_, tail, ends := strings.Cut(rest, "<!-- end of "+mark+" -->")
	if !is || !ends {
		t.Fatalf("the page has no part %s", mark)
	}
	return head + begin + text + "<!-- end of " + mark + " -->" + tail
}
