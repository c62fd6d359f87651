package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestNoProcess: a change whose process can't be started has failed, and says why.
func TestNoProcess(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	if _, _, err := s.Submit(t.Context(), Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change(
		"a",
	); c.State != StateFailed || !strings.Contains(c.Why, "/nowhere") || !strings.Contains(c.Why, "Nothing was written") ||
		c.Next == "" {
		t.Errorf("%+v", c)
	}
}

// running has the store say that a change runs, as a daemon leaves it that is killed before it has
// written the number of the process.
func running(t *testing.T, s *Service) *entry {
	t.Helper()
	if _, _, err := s.Submit(t.Context(), Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	changed := *s.find("a")
	changed.State, changed.Place, changed.Began = StateRunning, s.place, &now
	if err := errors.Join(s.replace(t.Context(), &changed), os.MkdirAll(s.folder("a"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return &changed
}

// TestKilledBeforeItHadBegun: what no process has begun waits again; nothing was written.
func TestKilledBeforeItHadBegun(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	if err := s.watch(t.Context(), running(t, s)); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateWaiting || c.Began != nil || c.Why != "its process was not started. The service tries again" {
		t.Errorf("%+v", c)
	}
}

// TestKilledBeforeItKnewTheProcess: the run is known by its lock, and its number by its history;
// its output does not grow without end; and when it has let go of the lock without a result nobody
// knows what has become of it.
func TestKilledBeforeItKnewTheProcess(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	running(t, s)
	lock, err := hold(filepath.Join(s.folder("a"), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	writer, err := history.Begin(
		filepath.Join(s.folder("a"), historyPart), record.Run{Table: "shop.orders", Process: os.Getpid()}, time.Now(),
	)
	if err == nil {
		err = errors.Join(writer.Close(), s.step(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateRunning || c.Process != os.Getpid() || c.History != writer.Path() {
		t.Errorf("%+v", c)
	}
	output := filepath.Join(s.folder("a"), stdoutFile)
	if err := errors.Join(os.WriteFile(output, nil, 0o600), os.Truncate(output, mostOutput+1), s.step(t.Context())); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(output); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := errors.Join(lock.Close(), s.step(t.Context())); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateUnknown || c.ExitCode != nil || !strings.Contains(c.Why, "was killed or has crashed") {
		t.Errorf("%+v", c)
	}
	if text, err := s.store.History(t.Context(), "a"); err != nil || !strings.Contains(string(text), "shop.orders") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestProcessOfAnother: where the number of a run's process is another's by now, the lock tells that the run is gone.
func TestProcessOfAnother(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	e := running(t, s)
	e.Process = os.Getpid() // which is at work
	lock, err := hold(filepath.Join(s.folder("a"), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := s.alive(e); !alive || err != nil {
		t.Errorf("it is at work: %t, %v", alive, err)
	}
	lock.Close()
	if alive, err := s.alive(e); alive || err != nil {
		t.Errorf("it is gone: %t, %v", alive, err)
	}
}

// TestWhatOutcomesMean: a run's last word in standard output counts where it has no history.
func TestWhatOutcomesMean(t *testing.T) {
	for outcome, want := range map[string]State{"done": StateDone, "failed": StateFailed, "refused": StateFailed, "aborted": StateAborted, "stopped": StateFailed,
		"swap_unknown": StateUnknown, "left_at_once": StateUnknown, "leftovers": StateFailed, "another": StateFailed} {
		s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
		running(t, s)
		next, wants := "Remove every reason, then run the same command again. "+failure.SameCommand+" later.",
			"Remove every reason, then run it again (midstream submit  --again --id=a). Run it again (midstream submit  --again --id=a) later."
		result := record.Result{
			Head:     record.HeadOf(record.NameResult, time.Now()),
			Outcome:  outcome,
			ExitCode: 3,
			Error:    "too bad",
			Left:     "a table",
			Next:     next,
		}
		text, err := json.Marshal(result)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.folder("a"), stdoutFile), fmt.Appendf(nil, "{\"event\":\"note\"}\n%s\n", text), 0o600)
		}
		if err := errors.Join(err, s.step(t.Context())); err != nil {
			t.Fatal(err)
		}
		c, _ := s.Change("a")
		if c.State != want || *c.ExitCode != 3 || c.Next != wants || want != StateDone && c.Why != "too bad. Left: a table" {
			t.Errorf("%s: %+v", outcome, c)
		}
	}
}

// TestFoldersAreTaken: two services don't share a folder, and one whose runs could have no sockets does not begin.
func TestFoldersAreTaken(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	if _, err := Open(
		t.Context(),
		s.cfg,
		file(t, filepath.Join(t.TempDir(), "other.db")),
	); !errors.Is(err, ErrFolderTaken) ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d of ", os.Getpid())) {
		t.Errorf("%v", err)
	}
	cfg := s.cfg
	cfg.Folder = t.TempDir()
	for _, folder := range []string{"/etc/hostname", "/" + strings.Repeat("long", 30)} {
		cfg.ControlFolder = folder
		if _, err := Open(context.Background(), cfg, file(t, filepath.Join(t.TempDir(), "s.db"))); !errors.Is(err, socket.ErrFolder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// TestVersionTellsTheForm: whoever gives a change in the store another form raises Version, and
// lists its fields here.
func TestVersionTellsTheForm(t *testing.T) {
	fields := map[int][]string{
		1: {
			"after", "began", "ended", "exit_code", "history", "id", "next", "options", "place", "process",
			"sequence", "server", "state", "statement", "submitted", "submitted_by", "table", "tables", "why",
		},
		2: {
			"after", "began", "ended", "exit_code", "history", "id", "kept", "next", "options", "parked_rows", "parked_table", "place",
			"process", "sequence", "server", "state", "statement", "submitted", "submitted_by", "table", "tables", "taken", "undo", "undoes",
			"unfit", "why",
		},
		3: {
			"after", "began", "ended", "exit_code", "history", "id", "kept", "next", "options", "parked_rows", "parked_table", "place",
			"process", "sequence", "server", "state", "statement", "submitted", "submitted_by", "table", "tables", "taken", "together", "undo",
			"undoes", "unfit", "why",
		},
		4: {
			"after", "again", "again_by", "attempt", "attempts", "began", "ended", "exit_code", "files", "history", "id", "kept", "next", "options",
			"parked_rows", "parked_table", "place", "process", "results", "sequence", "server", "state", "statement", "submitted", "submitted_by", "table",
			"tables", "taken", "texts", "together", "told", "undo", "undoes", "unfit", "why",
		},
		5: {
			"after", "again", "again_by", "approval", "attempt", "attempts", "author", "began", "ended", "exit_code", "files", "history", "id", "kept", "next", "not_before", "options",
			"parked_rows", "parked_table", "place", "priority", "process", "ready", "results", "sequence", "server", "state", "statement", "submitted", "submitted_by", "table",
			"tables", "taken", "texts", "together", "told", "undo", "undoes", "unfit", "why", "window",
		},
		6: {
			"after", "again", "again_by", "approval", "attempt", "attempts", "author", "began", "ended", "exit_code", "files", "history", "id",
			"kept", "member", "next", "not_before", "options", "parked_rows", "parked_table", "place", "priority", "process", "ready", "results",
			"sequence", "server", "state", "statement", "submitted", "submitted_by", "table", "tables", "taken", "texts", "together", "told",
			"undo", "undoes", "unfit", "why", "window",
		},
	}
	text, err := json.Marshal(entry{})
	var there map[string]any
	if err == nil {
		err = json.Unmarshal(text, &there)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range there {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, fields[Version]) {
		t.Errorf("a change of version %d has %q", Version, names)
	}
}
