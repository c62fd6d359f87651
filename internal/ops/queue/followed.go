package queue

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/undos"
)

// followed knows which tables of a service are to be followed for a warm undo.
type followed struct{ service *Service }

// newFollowed makes what follows the tables of a service.
func newFollowed(s *Service) *followers.Keeper {
	f := followed{s}
	return &followers.Keeper{
		Wanted: f.wanted, Begin: f.begin, Folder: filepath.Join(s.cfg.Folder, "followers"), Sockets: s.cfg.ControlFolder, Note: s.cfg.Note,
		Changed: func(server string) { // changes may have waited for that
			s.cfg.Undos.Hurry(server)
			s.writing.Lock()
			s.pending.all = true
			s.writing.Unlock()
			s.hurry()
		},
	}
}

// wanted are the tables whose last change is done and asked for a warm undo.
func (f followed) wanted() (all []followers.Wanted) {
	s := f.service
	s.mu.RLock()
	ids := slices.Sorted(maps.Values(s.board.kept))
	s.mu.RUnlock()
	for _, id := range ids {
		e := s.find(id)
		if !f.warm(e) {
			continue
		}
		options := map[string]string{}
		for name, value := range e.Options {
			if slices.Contains(UndoOptions(), operator.CurrentName(name)) {
				options[name] = value
			}
		}
		delete(options, "hold") // the follower is held anyway
		all = append(all, followers.Wanted{
			Change: id, Server: e.Server, Address: s.address(e.Server), Table: schema.NameOf(e.Kept.Table),
			Open: f.open(e), Stop: f.disturbed(e),
			Arguments: append(append(s.connects(e.Server), arguments(options, false)...), "--cutover-when-gone="+s.freezes.file(e.Server)),
		})
	}
	return all
}

// warm reports whether the table of a change is to be followed. A change that the server has made itself has no old table.
func (f followed) warm(e *entry) bool {
	if e.State != StateDone || e.Kept == nil || e.Undoes != "" {
		return false
	}
	now := f.service.cfg.Undos.Of(e.Server, schema.NameOf(e.Kept.Table))
	return asksWarm(e, now) && (now.Kept == nil || now.MayRefuse())
}

// asksWarm reports whether a change has asked for a warm undo, by its own options or by those of its server.
func asksWarm(e *entry, now undos.Standing) bool {
	for name, value := range e.Options {
		if operator.CurrentName(name) == "undo-mode" {
			return value == undoWarm
		}
	}
	return now.Kept != nil && now.Kept.Record.Warm && now.Kept.Record.Swapped.Equal(e.Kept.Swapped)
}

// disturbed reports whether another change of the table waits or runs that cannot do so while a follower is at work. An
// undo releases the follower.
func (f followed) disturbed(e *entry) bool {
	s := f.service
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, key := range e.keys() {
		for _, one := range slices.Concat(s.board.waiting[key], s.board.holding[key]) {
			if !releases(s.board.find(one.id)) {
				return true
			}
		}
	}
	return false
}

// releases reports whether a change is an undo that a follower can make: it cannot take other options.
func releases(e *entry) bool {
	for name := range e.Options {
		if operator.CurrentName(name) != "park" {
			return false
		}
	}
	return e.Undoes != ""
}

// open reports whether the server has said that the undo is open, is made by a follower, or was stopped: a follower may have
// been killed.
func (f followed) open(e *entry) bool {
	now := f.service.cfg.Undos.Of(e.Server, schema.NameOf(e.Kept.Table))
	if now.Kept == nil || !now.Known(time.Now()) || !now.Kept.Record.Swapped.Equal(e.Kept.Swapped) {
		return false
	}
	switch now.Kept.State {
	case leftovers.UndoOpen, leftovers.UndoRevoked:
		return true
	case leftovers.UndoRunning:
		return now.Follower != nil // another one's undo is at work
	case leftovers.UndoStopped:
		f.service.mu.RLock()
		defer f.service.mu.RUnlock()
		by := f.service.board.find(f.service.board.takers[e.ID])
		return by == nil || by.State.Over()
	}
	return false
}

// begin starts a process of midstream undo, which goes on when the service ends.
func (f followed) begin(args []string, output string) (ended <-chan struct{}, err error) {
	folder, name := filepath.Split(output)
	file, err := create(folder, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(f.service.cfg.Executable, append([]string{"undo"}, args...)...)
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	cmd.Stdout, cmd.Stderr = file, file
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	return done, nil
}
