//go:build unix

package queue

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// withoutFiles calls do while this process can open no file.
func withoutFiles(t *testing.T, do func()) {
	t.Helper()
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

// TestAChangeWaitsForFiles: if the process can open no file, a change waits, shows the cause, and begins later.
func TestAChangeWaitsForFiles(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	s.cfg.Executable = "/bin/true"
	if _, _, err := s.Submit(t.Context(), Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	withoutFiles(t, func() {
		if err := s.step(t.Context()); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%v", err)
		}
	})
	if c, _ := s.Change("a"); c.State != StateWaiting || !strings.Contains(c.Why, "too many open files") || c.Ended != nil {
		t.Errorf("%+v", c)
	}
	s.pending = pending{all: true} // as if the wait were over
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateRunning {
		t.Errorf("%+v", c)
	}
}

// TestAResultWaitsForFiles: while the result of a run cannot be read, the change stays running and
// shows the cause. It never becomes unknown for that reason.
func TestAResultWaitsForFiles(t *testing.T) {
	ended := record.Result{Head: record.HeadOf(record.NameResult, time.Now()), Outcome: "done"}
	for name, write := range map[string]func(*Service) error{
		"history": func(s *Service) error {
			w, err := history.Begin(filepath.Join(s.folder("a"), historyPart), record.Run{Table: "shop.orders", Process: 1 << 30}, time.Now())
			if err == nil {
				w.Write(ended)
				err = w.Close()
			}
			return err
		},
		"output": func(s *Service) error {
			return os.WriteFile(filepath.Join(s.folder("a"), stdoutFile), lineOf(t, ended), 0o600)
		},
		"file": func(s *Service) error {
			return os.WriteFile(filepath.Join(s.folder("a"), resultFile), append(lineOf(t, ended), make([]byte, 100)...), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
			begun := *running(t, s)
			begun.Process = 1 << 30 // which is gone
			if err := errors.Join(s.replace(t.Context(), &begun), write(s)); err != nil {
				t.Fatal(err)
			}
			withoutFiles(t, func() {
				if err := s.step(t.Context()); !errors.Is(err, syscall.EMFILE) {
					t.Errorf("%v", err)
				}
			})
			if c, _ := s.Change("a"); c.State != StateRunning || !strings.Contains(c.Why, "too many open files") {
				t.Errorf("%+v", c)
			}
			if err := s.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c, _ := s.Change("a"); c.State != StateDone {
				t.Errorf("%+v", c)
			}
		})
	}
}

func lineOf(t *testing.T, result record.Result) []byte {
	t.Helper()
	line, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return append(line, '\n')
}

// TestATornResultIsNone: a part of a result is no result, and an empty file for one is none.
func TestATornResultIsNone(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	e := running(t, s)
	if err := s.makeRoom(e); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(s.folder("a"), resultFile)); err != nil || info.Size() != room {
		t.Errorf("%v, %v", info, err)
	}
	line := lineOf(t, record.Result{Head: record.HeadOf(record.NameResult, time.Now()), Outcome: "done"})
	for _, part := range [][]byte{nil, line[:len(line)/2], line[:len(line)-1]} {
		if err := os.WriteFile(filepath.Join(s.folder("a"), resultFile), append(part, make([]byte, 100)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if result, err := s.result(e, nil); result != nil || err != nil {
			t.Errorf("%q: %+v, %v", part, result, err)
		}
	}
}

// TestARunThatPassesIsTriedAgain: if a run ends for a cause that passes by itself (1040, 1205, a
// lost connection, a full disk), its change waits for another try.
func TestARunThatPassesIsTriedAgain(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	running(t, s)
	result := record.Result{
		Head:     record.HeadOf(record.NameResult, time.Now()),
		Outcome:  "failed",
		ExitCode: 1,
		Error:    "Error 1040 (08004): Too many connections",
		Passing:  true,
	}
	err := os.WriteFile(filepath.Join(s.folder("a"), resultFile), lineOf(t, result), 0o600)
	if err := errors.Join(err, s.step(t.Context())); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change(
		"a",
	); c.State != StateWaiting || !strings.Contains(c.Why, "1040") || c.Began != nil || c.Ended != nil ||
		c.ExitCode != nil {
		t.Errorf("%+v", c)
	}
	if _, _, err := s.Submit(t.Context(), Submission{ID: "b", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	if why := s.waitsFor(s.find("b")); !strings.Contains(why, "a, which was submitted earlier") {
		t.Error("it has lost its place: " + why)
	}
	if due := s.pending.take(s.allWaiting); len(due) != 1 || due[0] != "b" {
		t.Errorf("it is tried again at once: %v", due)
	}
	c, err := s.Withdraw(t.Context(), "a", "", anyone)
	if err != nil || c.State != StateWithdrawn || !strings.Contains(c.Next, "midstream cleanup shop.orders") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestWhatPassesIsNotFinal: a shortage of this machine passes, and a program that cannot be executed does not.
func TestWhatPassesIsNotFinal(t *testing.T) {
	for number, want := range map[syscall.Errno]bool{syscall.EMFILE: true, syscall.ENFILE: true,
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EAGAIN: true,
		syscall.ENOMEM: true, syscall.ETXTBSY: true, syscall.ENOENT: false, syscall.EACCES: false, syscall.ENOEXEC: false,
		syscall.E2BIG: false} {
		if dbconn.Passes(&fs.PathError{Op: "fork/exec", Path: "/midstream", Err: number}) != want {
			t.Errorf("%v passes: %t is wrong", number, !want)
		}
	}
}

// TestAPlaceIsWhole: if a full disk has left the file of the place empty, the place gets a new name.
func TestAPlaceIsWhole(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	cfg := s.cfg
	cfg.Folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(cfg.Folder, "place"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), cfg, file(t, filepath.Join(t.TempDir(), "s.db")))
	if err != nil || other.place == "" {
		t.Fatalf("%+v, %v", other, err)
	}
	other.Close()
}
