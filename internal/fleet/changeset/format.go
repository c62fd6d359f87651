package changeset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/window"
	"midstream/internal/fleet/rollout"
)

// Format writes the normal form of a set: each rule that holds, in one order, defaults included. Parse reads it.
// Sets with the same rules have the same text.
func Format(set rollout.Set) string {
	set = set.Defaults()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("id: %s", quote(set.ID))
	if set.Statement != "" {
		line("statement: %s", quote(set.Statement))
	}
	if len(set.Files) > 0 {
		line("files: %s", quoteAll(set.Files))
	}
	line("selector: %s", quote(set.Selector.String()))
	line("waves:")
	for _, w := range set.Waves {
		line("  - name: %s", quote(w.Name))
		if !w.Selector.IsZero() {
			line("    selector: %s", quote(w.Selector.String()))
		}
		if w.Share > 0 {
			line("    share: %s", percent(w.Share))
		}
		if w.Soak > 0 {
			line("    soak: %s", duration(w.Soak))
		}
		if len(w.Approvers) > 0 {
			line("    approve: %s", quoteAll(w.Approvers))
		} else if w.Approve {
			line("    approve: true")
		}
	}
	formatRules(line, set)
	return b.String()
}

// formatRules writes what is below the waves.
func formatRules(line func(string, ...any), set rollout.Set) {
	if set.Limits != (rollout.Limits{}) {
		line("limits:")
		for _, l := range []struct {
			key string
			n   int
		}{{"all", set.Limits.All}, {"per_host", set.Limits.PerHost}, {"per_cell", set.Limits.PerCell}} {
			if l.n > 0 {
				line("  %s: %d", l.key, l.n)
			}
		}
	}
	line("stop_after:\n  failed: %d", set.StopAfter)
	if !set.Start.IsZero() {
		line("start:\n  window: %s", quote(blanks(set.Start)))
	}
	line("swap:\n  when: %s", set.Swap.When)
	if !set.Swap.Window.IsZero() {
		line("  window: %s", quote(blanks(set.Swap.Window)))
	}
	if set.Swap.When == rollout.WhenBarrier {
		line("  hold: %s\n  margin: %s", duration(set.Swap.Hold), duration(set.Swap.Margin))
	}
	line("retry:\n  attempts: %d\n  wait: %s", set.Retry.Attempts, duration(set.Retry.Wait))
	if set.Undo > 0 {
		line("undo: %s", duration(set.Undo))
	}
	if set.SkipApplied {
		line("skip_applied: true")
	}
}

// blanks is the text of a window with one blank where it has several.
func blanks(w window.Window) string { return strings.Join(strings.Fields(w.String()), " ") }

// Hash identifies the rules of a set: the same for each file with the same normal form.
func Hash(set rollout.Set) string {
	sum := sha256.Sum256([]byte(Format(set)))
	return hex.EncodeToString(sum[:])
}

// quote writes a text so that every version of YAML takes it for that text. JSON's strings are such.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteAll(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, quote(t))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// duration writes 1h30m, not 1h30m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
