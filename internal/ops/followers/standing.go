package followers

import (
	"context"
	"encoding/json"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// State is what a follower does.
type State string

// The states of a follower.
const (
	// Beginning means that it connects, or brings the old table up to date.
	Beginning State = "beginning"
	// Following means that the old table has all changes, but for the last ones: the undo is one lock away.
	Following State = "following"
	// Swapping means that it was released, and takes the change back.
	Swapping State = "swapping"
	// Waiting means that it is paused, or waits for its server.
	Waiting State = "waiting"
)

// Standing is how a follower stands.
type Standing struct {
	State State
	// Why is the reason for Waiting, for people.
	Why string
	// Behind is how far the old table is behind.
	Behind time.Duration
	// Unfit is the number of rows that the old definition refuses; Keys are those of some, as literals.
	Unfit int64
	Keys  []string
	// Compared is when it last compared the tables; nil: not yet.
	Compared *time.Time
	// Process is its process.
	Process int
}

// Ask returns how the follower of a table (database.table) stands, whose socket is in a folder. server is host:port, or ""
// for any. It is nil if no follower answers. It fails with socket.ErrFolder.
func Ask(ctx context.Context, folder, server, table string) (*Standing, error) {
	run, err := Find(ctx, folder, server, table)
	if run == nil || err != nil {
		return nil, err
	}
	standing := of(run.Found)
	return &standing, nil
}

// Find returns the follower of a table; nil for none. It fails with socket.ErrFolder.
func Find(ctx context.Context, folder, server, table string) (*socket.Client, error) {
	runs, err := socket.Find(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, run := range socket.OfTable(runs, table) {
		if about := run.Found.About; about.Undoes && about.Follows && (server == "" || about.Server == server) {
			return run, nil
		}
	}
	return nil, nil
}

// of reads how a follower stands from its status.
func of(status socket.Status) Standing {
	standing := Standing{State: Beginning, Process: status.Process}
	text, err := json.Marshal(status.Progress)
	var progress record.Progress
	if err == nil && json.Unmarshal(text, &progress) == nil {
		standing.Behind, standing.Keys = progress.CaptureDelayMS.Duration(), progress.UnfitKeys
		if at, err := time.Parse(record.RFC3339, progress.ComparedAt); err == nil {
			standing.Compared = &at
		}
		if progress.Unfit != nil {
			standing.Unfit = *progress.Unfit
		}
	}
	switch phase := event.Phase(status.Phase); {
	case status.State == "paused", status.State == "stopped", status.State == "waiting":
		standing.State, standing.Why = Waiting, status.Why
	case phase == event.PhaseHold, phase == event.PhaseVerify && status.Held != "" && standing.Compared != nil:
		standing.State = Following
	case status.Held == "":
		standing.State = Swapping
	}
	return standing
}
