package sets

import (
	"testing"

	"midstream/internal/fleet/rollout"
)

// TestAHintIsSafeToPaste: the command that a set shows has the name of a wave as one word of a shell.
func TestAHintIsSafeToPaste(t *testing.T) {
	v := View{ID: "note", Requests: []Request{{Ask: string(rollout.AskApprove), Wave: "a'; reboot; '"}}}
	if got := next(&v); got != `midstream fleet approve  note --wave='a'\''; reboot; '\'''` {
		t.Error(got)
	}
}
