package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
	"midstream/internal/ops/undos"
)

// Config is what a service works with.
type Config struct {
	// Executable is midstream, as whose processes changes run.
	Executable string
	// Folder holds a folder for each change. Its path is absolute.
	Folder string
	// ControlFolder is where the sockets of runs are.
	ControlFolder string
	// Servers are the servers at the start: SetServers gives others.
	Servers []Server
	// Inventory is what was found when they were read.
	Inventory Inventory
	// Limit is how many changes may run on a server at once, from 1.
	Limit int
	// Read reads a statement as a verb with these arguments would, without a connection: run, purge or update,
	// or undo with the name of a table. It returns all tables that the statement is about. Its error says all that is wrong.
	Read func(verb string, arguments []string, statement string) (tables []schema.Name, err error)
	// FleetPlan plans a change for those of the servers that are asked for; nil if the service has none. It fails with a
	// *socket.Problem.
	FleetPlan func(ctx context.Context, servers []Server, found Inventory, asked FleetQuestion) (any, error)
	// Settled returns why no run of a server may begin, by the option file that the flags name as it is now; it may be nil.
	Settled func(reach []string) error
	// Approve has the servers whose changes wait for the consent of another person; EveryServer for all.
	Approve map[string]bool
	// KeepEnded is how long changes that have ended are kept; 0 for ever. Those whose undo may be possible are kept longer.
	KeepEnded time.Duration
	// Undos knows how undos stand; nil if nothing is to be shown.
	Undos *undos.Board
	// Page returns the URL of the pages, once Run has begun; nil for none.
	Page func() string
	// Note tells what somebody should know who looks after the service.
	Note func(text string)
}

// Service is a queue at work. It is safe for concurrent use.
type Service struct {
	cfg   Config
	store Store
	place string
	lock  *os.File      // of the folder
	wake  chan struct{} // holds one word that there may be something to do

	writing sync.Mutex   // held by who changes changes, across the write to the store
	mu      sync.RWMutex // guards board and noted
	board   *board
	noted   map[string]string
	paths   map[string][]string      // of the histories that were found, by id. Guarded by mu
	runs    map[string]groups.Runs   // that were found, by id. Guarded by mu
	awaits  map[string]string        // why runs wait for a person, by id. Guarded by mu
	stands  map[string]socket.Status // of runs, when they answered last, by id. Guarded by mu
	soaks   map[string]bool          // runs between the two acts of a drop, by id. Guarded by mu
	braked  map[string]time.Time     // the freezes that runs know, by id. Guarded by mu

	instructed map[string]telling // the last commands to the runs of members, by id. Guarded by mu
	rounds     rounds
	driven     sync.Map          // ids of the change sets that this service drives
	finding    chan struct{}     // bounds how many look for one
	followers  *followers.Keeper // of tables with a warm undo
	planners   planners
	journal    journal
	freezes    freezer
	servers    servers
	fleetPlans sync.Mutex      // held by who makes a fleet plan
	doubted    map[string]bool // ids whose submission or approval the store has failed to answer. Guarded by writing
	pending    pending         // guarded by writing
}

// ErrFolderTaken says that another service works with the folder.
var ErrFolderTaken = errors.New("another service uses the folder")

// Open takes over what the store has: runs that are at work are watched, and those that have ended
// meanwhile are settled. It fails with ErrFolderTaken, with socket.ErrFolder, and with
// errors.ErrUnsupported on systems that don't tell whether a run lives.
func Open(ctx context.Context, cfg Config, store Store) (*Service, error) {
	s := &Service{
		cfg:        cfg,
		store:      store,
		wake:       make(chan struct{}, 1),
		board:      newBoard(),
		noted:      map[string]string{},
		paths:      map[string][]string{},
		runs:       map[string]groups.Runs{},
		awaits:     map[string]string{},
		stands:     map[string]socket.Status{},
		soaks:      map[string]bool{},
		braked:     map[string]time.Time{},
		instructed: map[string]telling{},
		finding:    make(chan struct{}, 2),
		planners:   newPlanners(),
		doubted:    map[string]bool{},
		pending:    pending{all: true},
	}
	s.servers.set(cfg.Servers, cfg.Inventory)
	s.followers = newFollowed(s)
	err := socket.CheckFolder(cfg.ControlFolder)
	if err == nil {
		err = s.takeFolder()
	}
	var kept []*entry
	if err == nil {
		err = s.openJournal(ctx)
	}
	if err == nil {
		err = s.openFreezes(ctx)
	}
	if err == nil {
		kept, err = s.load(ctx)
	}
	slices.SortFunc(kept, func(a, b *entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, e := range kept {
		s.board.set(e)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// takeFolder makes the folder, takes it for this service alone, and reads which place it is.
func (s *Service) takeFolder() error {
	if err := os.MkdirAll(s.cfg.Folder, 0o700); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	lock, err := hold(filepath.Join(s.cfg.Folder, lockFile))
	if errors.Is(err, errHeld) {
		err = takenBy(ErrFolderTaken, s.cfg.Folder)
	}
	if err != nil {
		return fmt.Errorf("take %s: %w", s.cfg.Folder, err)
	}
	s.lock = lock
	sign(lock)
	path := filepath.Join(s.cfg.Folder, "place")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // a container has another host's name each time
		host, _ := os.Hostname()
		text = []byte(host + ":" + s.cfg.Folder + " (" + rand.Text()[:8] + ")")
		err = writeWhole(path, text)
	}
	if err != nil {
		return fmt.Errorf("take %s: %w", s.cfg.Folder, err)
	}
	s.place = string(text)
	return nil
}

// Close gives the folder back. Runs go on; the store stays open. REQUIRES: Run has returned.
func (s *Service) Close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// beat is how often is looked for runs that have ended; retry is the time between two tries where
// the store does not take something.
const (
	beat  = 200 * time.Millisecond
	retry = 2 * time.Second
)

// Run begins changes and settles them until ctx ends. Runs go on then. It fails when the store is
// lost to another daemon.
func (s *Service) Run(ctx context.Context) error {
	var checked, dropped time.Time
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { s.followStates(ctx) })
	if s.cfg.Undos != nil {
		if err := s.followers.Adopt(ctx); err != nil {
			s.cfg.Note(err.Error())
		}
		following.Go(func() { s.cfg.Undos.Run(ctx, s.undoTables) })
		following.Go(func() { s.followers.Run(ctx) })
	}
	defer following.Wait()
	defer stop()
	for {
		err := s.step(ctx)
		if time.Since(checked) > storeBeat {
			checked = time.Now()
			unfit := s.store.Check(ctx)
			s.once("", unfit)
			err = errors.Join(err, unfit)
		}
		if time.Since(dropped) > min(dropEvery, s.cfg.KeepEnded) {
			dropped = time.Now()
			err = errors.Join(err, s.dropEnded(ctx))
		}
		wait := beat
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrStoreTaken):
			return err
		case err != nil:
			wait = retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		case <-s.wake:
		}
	}
}

// step settles and begins changes. What fails is tried again in a later step. A submission waits
// for one change at most.
func (s *Service) step(ctx context.Context) error {
	thawed := s.applyFreezes() // before a change begins
	s.writing.Lock()
	failed := errors.Join(thawed, s.settleDoubts(ctx))
	running, due := s.atWork(), s.byPriority(s.pending.take(s.allWaiting))
	s.writing.Unlock()
	for _, e := range running {
		failed = errors.Join(failed, s.stepOf(ctx, e.ID, StateRunning, s.watch))
	}
	for _, id := range due {
		err := s.stepOf(ctx, id, StateWaiting, s.advance)
		failed = errors.Join(failed, err)
		if errors.Is(err, errUnkept) || dbconn.Passes(err) { // the next one would meet the same
			s.writing.Lock()
			s.pending.rest()
			s.writing.Unlock()
			break
		}
	}
	return failed
}

// stepOf calls do for a change, if it is still in that state.
func (s *Service) stepOf(ctx context.Context, id string, state State, do func(context.Context, *entry) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	e := s.find(id)
	if e == nil || e.State != state {
		return nil
	}
	err := do(ctx, e)
	if err != nil && state == StateWaiting {
		s.pending.later(id)
	}
	s.once(id, err)
	return err
}

// once notes an error of a change, unless it is what was noted last.
func (s *Service) once(id string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	fresh := text != s.noted[id]
	if s.noted[id] = text; text == "" {
		delete(s.noted, id)
	}
	s.mu.Unlock()
	if fresh && text != "" {
		s.cfg.Note(text) // which may wait for who reads it
	}
}

// notes is what was noted last of a change; "" if nothing is amiss.
func (s *Service) notes(id string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.noted[id]
}

// advance begins a change that may begin, or ends it where one has failed that it was to come after.
func (s *Service) advance(ctx context.Context, e *entry) error {
	for _, id := range e.After {
		if before := s.find(id); before != nil && before.State.Over() && before.State != StateDone {
			changed := *e
			changed.end(
				StateFailed, fmt.Sprintf("it depends on change %s, which is %s. Nothing was begun", id, before.State),
				"remove that cause, and run both again: "+runAgain(id)+", then "+runAgain(e.ID),
			)
			return s.replace(ctx, &changed)
		}
	}
	if why, next := e.tooEarly(time.Now()); why != "" {
		s.pending.when(e.ID, next)
		return nil
	}
	if s.waitsForOthers(e) != "" {
		return nil
	}
	if s.unsettled(e) != "" {
		s.pending.when(e.ID, time.Now().Add(retry))
		return nil
	}
	return s.begin(ctx, e)
}

// unsettled is why no run of a change's server may begin, by its option file, which it reads; "" if one may.
func (s *Service) unsettled(e *entry) string {
	if s.cfg.Settled == nil {
		return ""
	}
	if err := s.cfg.Settled(s.servers.of(e.Server).flags()); err != nil {
		return fmt.Sprintf("server %s: %v", e.Server, err)
	}
	return ""
}

// waitsFor is what a waiting change waits for, for people; "" if it may begin.
func (s *Service) waitsFor(e *entry) string {
	if why := s.waitsForOthers(e); why != "" {
		return why
	}
	return s.unsettled(e)
}

// waitsForOthers is what a waiting change waits for, but for its server's option file.
func (s *Service) waitsForOthers(e *entry) string {
	if !s.servers.has(e.Server) {
		return fmt.Sprintf("this service no longer has a server %s (--server, or its inventory)", e.Server)
	}
	for _, id := range e.After {
		if before := s.find(id); before == nil || before.State != StateDone {
			return "it waits for change " + id
		}
	}
	if why, _ := e.tooEarly(time.Now()); why != "" {
		return why
	}
	if f := s.freezes.of(e.Server); f != nil {
		return f.Words()
	}
	for _, table := range e.Tables {
		if !releases(e) && s.followers.Follows(e.Server, table) {
			return fmt.Sprintf("%s is followed for an undo, which ends now", table)
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if other := s.board.before(e); other != nil {
		return fmt.Sprintf("%s, which was submitted earlier, also changes %s", other.ID, e.shares(other))
	}
	running := slices.DeleteFunc(slices.Clone(s.board.running[e.Server]), func(one spot) bool { return s.soaks[one.id] })
	if len(running) >= s.cfg.Limit {
		return fmt.Sprintf("at most %d may run on %s at the same time (--limit); at work: %s", s.cfg.Limit, e.Server, strings.Join(row(running).ids(), ", "))
	}
	return ""
}

// all are the changes of this moment, in the order of submission.
func (s *Service) all() []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.board.changes)
}

// atWork returns the changes whose runs this service watches.
func (s *Service) atWork() (list []*entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, row := range s.board.running {
		for _, one := range row {
			if e := s.board.find(one.id); e.Place == s.place {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return list
}

// allWaiting returns the ids of the changes that wait, in the order of submission.
func (s *Service) allWaiting() (ids []string) {
	for _, e := range s.all() {
		if e.State == StateWaiting {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// find is the change of an id, nil for none.
func (s *Service) find(id string) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.board.find(id)
}

// replace keeps what a change has become, and what a person did for it: first in the store. REQUIRES: writing is held, or nobody else
// is there yet.
func (s *Service) replace(ctx context.Context, changed *entry, acts ...audit.Entry) error {
	if err := s.put(ctx, changed, nil, acts...); err != nil {
		return err
	}
	s.show(changed)
	return nil
}

// show has everybody see what a change has become. REQUIRES: it is in the store, and as of replace.
func (s *Service) show(changed *entry) {
	before := s.find(changed.ID)
	if before == nil || before.State != changed.State {
		s.cfg.Note(told(changed))
	}
	if changed.State == StateWaiting {
		s.pending.one(changed.ID)
	} else if before != nil && before.State != changed.State { // others may wait for that
		if changed.State.Over() {
			s.pending.over(changed.ID)
		}
		if s.cfg.Undos != nil {
			defer s.cfg.Undos.Hurry(changed.Server) // once it is on the board
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.board.set(changed); changed.State.Over() {
		delete(s.runs, changed.ID)
	}
	if changed.State != StateRunning {
		delete(s.awaits, changed.ID)
		delete(s.stands, changed.ID)
		delete(s.soaks, changed.ID)
		delete(s.braked, changed.ID)
		delete(s.instructed, changed.ID)
		s.rounds.forget(changed.ID)
	}
}

// told says what a change has become.
func told(e *entry) string {
	text := fmt.Sprintf("change %s (%s on %s) is %s", e.ID, e.dotted(), e.Server, e.State)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// hurry has the queue look at once.
func (s *Service) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Changes are all changes, in the order of submission.
func (s *Service) Changes() []Change { return s.views(s.all()) }

// Some returns a bounded number of changes, in the order of submission. Running changes come first.
// One half of the rest is for the next that wait, the other half for the newest that are over.
func (s *Service) Some(most int) []Change {
	var running, waiting, over, chosen []*entry
	for _, e := range s.all() {
		switch {
		case e.State == StateRunning:
			running = append(running, e)
		case !e.State.Over():
			waiting = append(waiting, e)
		default:
			over = append(over, e)
		}
	}
	room := max(0, most-len(running))
	waits := min(len(waiting), max(room/2, room-len(over)))
	ended := min(len(over), room-waits)
	chosen = slices.Concat(running[:min(most, len(running))], waiting[:waits], over[len(over)-ended:])
	slices.SortFunc(chosen, func(a, b *entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return s.views(chosen)
}

func (s *Service) views(entries []*entry) []Change {
	list := make([]Change, 0, len(entries))
	for _, e := range entries {
		list = append(list, s.view(e))
	}
	return list
}

// Change is that of an id.
func (s *Service) Change(id string) (Change, bool) {
	if e := s.find(id); e != nil {
		return s.view(e), true
	}
	return Change{}, false
}

// view is a change as it is shown.
func (s *Service) view(e *entry) Change {
	c := e.Change
	for _, table := range e.Tables {
		c.Tables = append(c.Tables, table.Dotted())
	}
	switch {
	case c.State == StateProposed:
		c.Why, c.Next = e.proposed()
	case c.State == StateWaiting:
		c.Why = cmp.Or(s.waitsFor(e), s.notes(e.ID), c.Why)
	case c.State == StateRunning && e.Place != s.place:
		c.Why = "a service on another machine, or with another folder, began it (" + e.Place + ") and does not answer"
		c.Next = "check there whether its process runs; to continue here without it, withdraw it: its state is then unknown"
	case c.State == StateRunning:
		c.Why = cmp.Or(s.notes(e.ID), s.awaitsOf(e.ID))
		if c.Ready != nil {
			c.Why, c.Next = e.released(c.Why), "midstream release  "+e.ID+" lets it swap"
		}
		c.Why = s.frozenRun(e, c.Why)
	}
	if c.Undo = s.undoOf(e); c.Undo != nil {
		if c.Next = s.next(e, c.Undo); c.Undo.gone() {
			c.Why, _, _ = strings.Cut(c.Why, keptAs)
		}
	}
	c.Ready = c.Ready.aged()
	c.Next = s.reach(e).In(c.Next)
	c.Unfit = append([]record.Finding{}, c.Unfit...)
	c.Files, c.Results = append([]string{}, c.Files...), append([]record.Table{}, c.Results...)
	c.Attempt, c.Attempts, c.Again = e.number(), append([]Attempt{}, c.Attempts...), e.another()
	if paths, _ := s.historiesOf(e); len(paths) > 0 { // what can't be looked at now is there the next time
		c.History = paths[0]
	}
	return c
}

// Running lists the ids of the changes whose runs are at work.
func (s *Service) Running() []string {
	var ids []string
	for _, e := range s.all() {
		if e.State == StateRunning {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Continuing says what becomes of runs when the service ends.
func (s *Service) Continuing() string {
	ids := s.Running()
	if len(ids) == 0 {
		return "No run is active."
	}
	return fmt.Sprintf(
		"These runs continue: %s. If you start midstream serve again, it reports how they end; midstream abort  stops them.",
		strings.Join(ids, ", "),
	)
}

// folder is that of a change.
func (s *Service) folder(id string) string { return filepath.Join(s.cfg.Folder, "changes", id) }
