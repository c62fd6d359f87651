package foreign_test

import (
	"strings"
	"testing"

	"midstream/internal/compat/foreign"
)

// TestFlagsOfOtherToolsAreExplained: who knows another tool learns which flag serves the same purpose.
func TestFlagsOfOtherToolsAreExplained(t *testing.T) {
	for flag, want := range map[string]string{
		"execute": "midstream plan", "noop": "midstream plan", "max-lag": "use --max-replica-lag", "max-lag-millis": "use --max-replica-lag",
		"chunk-size": "--chunk-time", "panic-flag-file": "midstream abort", "null-to-not-null": "docs/pt-osc-flags.md", "exact-rowcount": "docs/gh-ost-flags.md",
		"max-slowdwn": "",
	} {
		if got := foreign.Explained(flag); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("--%s: %q", flag, got)
		}
	}
}
