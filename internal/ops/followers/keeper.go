package followers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"midstream/internal/engine/follow"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Wanted is a table that a follower is to follow.
type Wanted struct {
	// Change is what the undo takes back: a follower that its operator has stopped is not started again for it.
	Change string
	// Server is the name of the server, and Address its address.
	Server, Address string
	Table           schema.Name
	// Open means that the undo is known to be open: a follower that is missing is started. Stop means that another run is to
	// work on the table: the follower is to end.
	Open, Stop bool
	// Arguments are those of midstream undo that reach the server and say how it works.
	Arguments []string
}

// Keeper keeps a follower at work for each table that is to be followed. A follower is a process of its own, and goes on
// when the keeper ends; the next keeper finds it by its control socket.
type Keeper struct {
	// Wanted lists the tables. It must not wait.
	Wanted func() []Wanted
	// Begin starts midstream undo with these arguments, and its output in a file. ended is closed when the process has ended.
	Begin func(arguments []string, output string) (ended <-chan struct{}, err error)
	// Folder is for output and histories, Sockets for control sockets.
	Folder, Sockets string
	Note            func(text string)
	// Changed is called when a follower has begun or has ended.
	Changed func(server string)

	mu   sync.Mutex
	kept map[string]*kept // by server and table
}

// kept is a follower, or was one.
type kept struct {
	wanted Wanted
	ended  <-chan struct{} // nil: another keeper has begun it, or there is none
	there  bool            // it is at work
	off    string          // the change for which its operator has stopped it
	again  time.Time       // not before
	wait   time.Duration
	seen   time.Time // if another keeper has begun it: when it last answered
	noted  string
	lost   bool // it has failed, and does not follow again yet
}

const (
	keepEvery = time.Second
	// waitLeast and waitMost bound the wait after a follower that has failed.
	waitLeast, waitMost = 2 * time.Second, 5 * time.Minute
)

// Run keeps followers at work until ctx ends. They go on then.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		k.round(ctx)
		_ = dbconn.Sleep(ctx, keepEvery)
	}
}

// Follows reports whether a follower may be at work on a table.
func (k *Keeper) Follows(server string, table schema.Name) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.kept[keyOf(server, table)]
	return f != nil && f.there
}

func keyOf(server string, table schema.Name) string { return server + "\x00" + table.Dotted() }

// round starts followers that are missing, and stops those that must give way.
func (k *Keeper) round(ctx context.Context) {
	wanted := map[string]bool{}
	for _, w := range k.Wanted() {
		f := k.of(w)
		wanted[keyOf(w.Server, w.Table)] = true
		switch {
		case w.Stop && f.there:
			k.stop(ctx, f)
		case w.Open && !w.Stop:
			k.keep(ctx, f)
		default:
			k.gone(ctx, f)
		}
	}
	for key, f := range k.kept {
		if !wanted[key] {
			k.gone(ctx, f)
		}
	}
}

// of is what the keeper knows of the follower of a table.
func (k *Keeper) of(w Wanted) *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string]*kept{}
	}
	key := keyOf(w.Server, w.Table)
	if k.kept[key] == nil {
		k.kept[key] = &kept{}
	}
	k.kept[key].wanted = w
	return k.kept[key]
}

// Adopt finds the followers that an earlier keeper has begun. Call it before Run. It fails with socket.ErrFolder.
func (k *Keeper) Adopt(ctx context.Context) error {
	runs, err := socket.Find(ctx, k.Sockets)
	if err != nil {
		return err
	}
	for _, w := range k.Wanted() {
		for _, run := range socket.OfTable(slices.Clone(runs), w.Table.Dotted()) {
			if run.Found.Follows && run.Found.Server == w.Address {
				f := k.of(w)
				f.there, f.seen = true, time.Now()
			}
		}
	}
	return nil
}

// keep starts a follower, unless it is at work.
func (k *Keeper) keep(ctx context.Context, f *kept) {
	if !k.gone(ctx, f) {
		k.recovered(ctx, f)
		return
	}
	if f.off == f.wanted.Change || time.Now().Before(f.again) {
		return
	}
	w := f.wanted
	now, err := Ask(ctx, k.Sockets, w.Address, w.Table.Dotted())
	f.seen = time.Now()
	if err == nil && now == nil {
		if err = os.MkdirAll(k.Folder, 0o700); err == nil {
			f.ended, err = k.Begin(append([]string{"--hold", "--lazy", "--json",
				"--history-dir=" + filepath.Join(k.Folder, "runs")}, append(w.Arguments, "--", w.Table.Argument())...), k.output(w))
		}
	}
	if err != nil {
		k.failed(f, "cannot be started: "+err.Error())
		return
	}
	k.set(f, true)
}

// recovered notes that a follower which has failed follows its table again.
func (k *Keeper) recovered(ctx context.Context, f *kept) {
	if !f.lost {
		return
	}
	now, err := Ask(ctx, k.Sockets, f.wanted.Address, f.wanted.Table.Dotted())
	if err != nil || now == nil || now.State != Following {
		return
	}
	f.lost, f.wait = false, 0
	k.note(f, fmt.Sprintf("process %d follows the table again", now.Process))
}

// gone reports whether a follower is not at work, and finds out why.
func (k *Keeper) gone(ctx context.Context, f *kept) bool {
	if !f.there {
		return true
	}
	var since time.Time // a result before that is another process's
	if f.ended == nil { // another keeper has begun it
		now, err := Ask(ctx, k.Sockets, f.wanted.Address, f.wanted.Table.Dotted())
		if now != nil {
			f.seen = time.Now()
		}
		if now != nil || err != nil {
			return false
		}
		since = f.seen.Truncate(time.Millisecond)
	} else {
		select {
		case <-f.ended:
		default:
			return false
		}
	}
	k.set(f, false)
	f.ended = nil
	switch result := lastResult(k.output(f.wanted), since); {
	case result == nil:
		k.failed(f, socket.ErrKilled.Error())
	case result.ExitCode == 0 || result.Error == follow.ErrOver.Error():
		f.again = time.Now().Add(waitLeast) // the server will tell whether the undo is still open
	case result.Outcome == "aborted":
		f.off = f.wanted.Change
		k.note(f, "its operator has stopped it; the undo is still open")
	default:
		k.failed(f, result.Cause())
	}
	return true
}

// stop ends a follower, so that another run may work on its table.
func (k *Keeper) stop(ctx context.Context, f *kept) {
	if f.ended != nil {
		select {
		case <-f.ended:
			f.ended = nil
			k.set(f, false)
			return
		default:
		}
	}
	run, err := Find(ctx, k.Sockets, f.wanted.Address, f.wanted.Table.Dotted())
	switch {
	case err == nil && run == nil && f.ended == nil:
		k.set(f, false)
	case err == nil && run != nil && of(run.Found).State != Swapping:
		err = run.Call(ctx, http.MethodPost, "abort", socket.AbortCommand{}, &socket.Answer{})
	}
	if err != nil {
		k.note(f, "cannot be stopped: "+err.Error())
	}
}

// failed notes why a follower is not at work, and when it is started again.
func (k *Keeper) failed(f *kept, why string) {
	f.wait = min(max(2*f.wait, waitLeast), waitMost)
	f.again, f.lost = time.Now().Add(f.wait), true
	k.note(f, why+". It is started again")
}

// note reports on a follower, unless it was the last text.
func (k *Keeper) note(f *kept, text string) {
	if text != f.noted {
		f.noted = text
		k.Note(fmt.Sprintf("the warm undo of %s (%s on %s): %s", f.wanted.Change, f.wanted.Table, f.wanted.Server, text))
	}
}

func (k *Keeper) set(f *kept, there bool) {
	k.mu.Lock()
	changed := f.there != there
	f.there = there
	k.mu.Unlock()
	if changed {
		k.Changed(f.wanted.Server)
	}
}

// output is the file for the output of a follower.
func (k *Keeper) output(w Wanted) string { return filepath.Join(k.Folder, w.Change+".out") }

// lastResult reads the result at the end of a file, of that time or later; nil for none.
func lastResult(path string, since time.Time) (result *record.Result) {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record.Result
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Event == record.NameResult && !r.Time().Before(since) {
			result = &r
		}
	}
	return result
}
