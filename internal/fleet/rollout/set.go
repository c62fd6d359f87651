package rollout

import (
	"time"

	"midstream/internal/engine/window"
	"midstream/internal/fleet/selector"
)

// Set is a change set: one change for many servers, and the rules by which it reaches them.
type Set struct {
	// ID names the set. The change of a member has the id ID@server.
	ID string
	// Statement is what each member runs. Files are given in its place.
	Statement string
	// Files are the paths of files with the wanted definitions.
	Files []string
	// Author submitted the set. The author's own approval does not count.
	Author string
	// Selector chooses the members.
	Selector selector.Selector
	// Waves are the parts of the set, in their order.
	Waves []Wave
	// Limits bound the members that run at the same time.
	Limits Limits
	// StopAfter is the number of failed members that stops the set. Defaults to 1.
	StopAfter int
	// SkipApplied counts members that have the change already as done. Otherwise they hold the set up, as drift does.
	SkipApplied bool
	// Start is the window in which members may start.
	Start window.Window
	// Swap says when members may swap.
	Swap Swap
	// Retry is for members that end for a reason that may pass.
	Retry Retry
	// Undo is how long after a member's swap the change can be taken back. Defaults to 0: never.
	Undo time.Duration
}

// Wave is a part of a set: the members that Selector chooses, or a share of all members, or the rest.
type Wave struct {
	Name     string
	Selector selector.Selector
	// Share is in hundredths of a percent.
	Share int
	// Soak is the wait after the wave's last swap.
	Soak time.Duration
	// Approve makes the next wave wait for a person.
	Approve bool
	// Approvers are the persons whose approval counts. Defaults to everyone but the author.
	Approvers []string
}

// Limits bound the members that copy at the same time. 0 is no limit. A member that is ready does not count.
type Limits struct{ All, PerHost, PerCell int }

// When says what a member's swap waits for, in addition to the window and freezes.
type When string

// The swap policies.
const (
	// WhenReady lets each member swap as soon as it is ready.
	WhenReady When = "ready"
	// WhenWaveReady is the gated swap: no member swaps before all members of its wave are ready.
	WhenWaveReady When = "wave_ready"
	// WhenReleased waits for a person's release.
	WhenReleased When = "released"
	// WhenBarrier lets all members of a wave swap at the same moment, or none.
	WhenBarrier When = "barrier"
)

// Swap says when members may swap.
type Swap struct {
	When   When
	Window window.Window
	// Hold is how long a member of a barrier may hold its lock. Defaults to 2 s.
	Hold time.Duration
	// Margin is the time that a barrier's decision leaves for the way to its members. Defaults to 50 ms.
	Margin time.Duration
}

// Retry bounds the attempts of a member that fails for a reason that may pass.
type Retry struct {
	// Attempts is the most attempts that the set makes by itself. Defaults to 3.
	Attempts int
	// Wait is the time before another attempt. It doubles each time. Defaults to 1 min.
	Wait time.Duration
}

// MostOfBarrier is the most members of a wave that may swap by a barrier: one lock request of fifty fails.
const MostOfBarrier = 16

// The labels that limits count by.
const (
	LabelHost = "host"
	LabelCell = "cell"
)

// Defaults fills in what the set leaves open.
func (s Set) Defaults() Set {
	fill(&s.StopAfter, 1)
	fill(&s.Swap.When, WhenReady)
	fill(&s.Swap.Hold, 2*time.Second)
	fill(&s.Swap.Margin, 50*time.Millisecond)
	fill(&s.Retry.Attempts, 3)
	fill(&s.Retry.Wait, time.Minute)
	s.SkipApplied = s.SkipApplied || len(s.Files) > 0 // the files are what a server should have
	return s
}

func fill[T comparable](value *T, otherwise T) {
	if *value == *new(T) {
		*value = otherwise
	}
}
