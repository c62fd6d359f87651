package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/binlog"
)

// client is one run of Midstream, from its start or resume to its crash: the real
// tracker, backlog and capture, and processes in the place of its goroutines.
type client struct {
	nameless  bool // it began at the very beginning of the binlog
	w         *world
	processes []*process

	tracker *frontier.Tracker
	backlog *backlog.Backlog
	capture *capture.Capture
	ledger  *ledger           // what must be in them
	placing *frontier.Tracker // defect IgnoreBarriers
	safe    binlog.Position   // law L5: the last safe position
	oldest  uint64            // and segment
	resumed bool

	reader  reader
	beating *process // who waits for a heartbeat
	sending []*statement
	beats   int // heartbeats that came back

	// of rowsync.Syncer
	alone      bool
	aloneAsked int
	running    []*syncing

	// of the row copy
	next   bool // somebody decides about the next bound
	chunks []*predicate
	copied []bool // by identity
	begun  []bool // by identity: handed out, now or before
	former []row  // defect StartLate: the source before the start position was read

	// of apply
	wake      int // counts what may have made keys takeable
	applyStop bool
	batches   []*taken
}

// reader is the place in the binlog up to which it was read.
type reader struct {
	from  int // group at which the run began to read
	group int
	event int
}

// statement is one on the state table that was sent and not yet carried out.
type statement struct{ run func() }

// taken is a batch that a worker has.
type taken struct {
	*backlog.Batch
	pred *predicate
}

func newClient(w *world) *client {
	c := &client{w: w, copied: make([]bool, len(w.latest)), begun: make([]bool, len(w.latest))}
	c.spawn("story", c.story)
	return c
}

func (c *client) spawn(name string, body func(p *process)) {
	c.processes = append(c.processes, newProcess(name, body))
}

func (c *client) stop() {
	for _, p := range c.processes {
		p.stop()
	}
}

// story is migration.Run: start or resume, copy and follow, cut over.
func (c *client) story(p *process) {
	for range c.w.rng.IntN(20) {
		p.pause()
	}
	// A locking read of the state table: what a former run has sent to it is through.
	p.wait(func() bool { return len(c.w.underWay) == 0 && c.w.visible > c.w.stated })
	if c.w.saved == nil {
		c.start(p)
	} else {
		c.resume(p)
	}
	c.spawn("reader", c.readBinlog)
	c.spawn("beats", c.writeBeats)
	c.spawn("checkpoints", c.checkpoints)
	for i := range c.w.opts.Appliers {
		c.spawn(fmt.Sprint("apply ", i+1), func(p *process) { c.apply(p, i) })
	}
	for i := range c.w.opts.Copiers {
		c.spawn(fmt.Sprint("copy ", i+1), c.rowCopy)
	}
	p.wait(c.tracker.Complete)
	c.cutOver(p)
}

// start begins with a new shadow. Law L1: position, heartbeat, first row.
func (c *client) start(p *process) {
	w := c.w
	p.wait(func() bool { return len(w.open) == 0 }) // DROP TABLE
	clear(w.shadow)
	w.beat = 0
	if w.defect == StartLate {
		c.former = append([]row(nil), w.source...)
		for range 10 {
			p.pause()
		}
	}
	start := w.position()
	p.pause()
	c.assemble(frontier.New(c.order()), start)
	if w.defect != NoFirstBeat {
		c.beat(p)
	}
	if w.defect != NoAwaitXA {
		c.awaitPreparedXA(p)
	}
}

// awaitPreparedXA waits for the XA transactions that are prepared now.
func (c *client) awaitPreparedXA(p *process) {
	var before []*xa
	for _, x := range c.w.prepared {
		if c.w.visible > x.group {
			before = append(before, x)
		}
	}
	p.wait(func() bool {
		for _, x := range before {
			if c.w.preparedBy[x.changes[0].id] == x {
				return false
			}
		}
		return true
	})
}

// resume goes on from the checkpoint.
func (c *client) resume(p *process) {
	w := c.w
	c.resumed = true
	w.passed.Resumes++
	text, err := json.Marshal(w.saved)
	if err != nil {
		panic(err)
	}
	var saved checkpoint.Checkpoint
	if err := json.Unmarshal(text, &saved); err != nil {
		panic(err)
	}
	position, err := binlog.ParsePosition(saved.Position)
	if err != nil {
		panic(err)
	}
	ranges := checkpoint.KeyRanges(saved.Copied)
	tracker, err := frontier.Resume(c.order(), ranges)
	if err != nil {
		w.fail("L5", "the checkpoint can't be resumed: %v", err)
	}
	for _, r := range ranges {
		c.mark(c.copied, r)
		c.mark(c.begun, r)
	}
	w.note("resumes from group", groupAt(position))
	c.assemble(tracker, position)
}

func (c *client) mark(ids []bool, r key.Range) {
	from, to := c.w.keys.bounds(r)
	for id := from; id < to; id++ {
		ids[id] = true
	}
}

// assemble puts the real parts together, as package migration does.
func (c *client) assemble(tracker *frontier.Tracker, from binlog.Position) {
	w := c.w
	c.tracker = tracker
	c.ledger = newLedger(c)
	c.backlog = backlog.New(backlog.Config{
		Limit: w.opts.Limit, Workers: w.opts.Appliers, Partition: c.partition,
		KeepAhead: c.keepsAhead(), AwaitCopy: w.opts.KeyChanged, KeepRepeats: w.opts.KeepRepeats,
	}, c.placer())
	beaten := w.beat
	if w.defect == BeatsRestart {
		beaten = 0
	}
	c.capture = capture.New(capture.Config{}, capture.Deps{
		Key: w.keys.codec, Backlog: c.backlog, Beat: c.commitBeat, Beaten: beaten,
	}, capture.Point{Position: from, GTIDs: gtidsBefore(from)})
	n := groupAt(from)
	c.nameless = n == 0
	c.reader = reader{from: n, group: n}
}

// keepsAhead says that keys ahead of the row copy are synced and not dropped. Where the
// key changes, a chunk can't delete by range what was synced ahead of it before, because
// the client could not compare the key, or by a chunk that the checkpoint doesn't know.
func (c *client) keepsAhead() bool {
	if c.w.defect == ChangedDrops {
		return c.w.opts.KeepAhead
	}
	return c.w.opts.KeepAhead || c.w.opts.KeyChanged && (c.resumed || !c.w.keys.codec.Ordered())
}

// fresh says that a chunk only inserts.
func (c *client) fresh() bool {
	alone := c.w.keys.codec.Ordered() && !c.w.opts.KeepAhead // nobody else writes ahead of it
	switch c.w.defect {
	case ChangedRange:
		return alone
	case ResumeFresh:
		return c.w.opts.KeyChanged || alone
	}
	return c.w.opts.KeyChanged || alone && !c.resumed
}

func (c *client) partition(k key.Key, _ int) int {
	s := c.w.keys.byKey[k]
	c.ledger.kept(s)
	return c.workerOf(s)
}

func (c *client) workerOf(s int) int {
	if c.w.defect == SplitEqual {
		return s % c.w.opts.Appliers
	}
	return c.w.keys.spellings[s].class % c.w.opts.Appliers
}

// beat has the capture write a heartbeat. One caller at a time.
func (c *client) beat(p *process) {
	c.beating = p
	if err := c.capture.Beat(context.Background()); err != nil {
		panic(err)
	}
	c.ledger.revealed()
}

// commitBeat is the heartbeat's UPDATE, tried again where its answer is lost.
func (c *client) commitBeat(_ context.Context, n uint64) error {
	w, p := c.w, c.beating
	c.ledger.sealed()
	for {
		c.send(p, func() { w.writeBeat(n) })
		if w.defect != RevealEarly {
			p.wait(w.shown(w.stated))
		}
		if !w.roll(w.opts.LostAck) {
			return nil
		}
	}
}

// send has a statement on the state table on its way for a while, and then carried out
// once the row's lock is free.
func (c *client) send(p *process, run func()) {
	s := &statement{run: run}
	c.sending = append(c.sending, s)
	p.wait(c.w.shown(c.w.stated))
	c.sending = slices.DeleteFunc(c.sending, func(other *statement) bool { return other == s })
	s.run()
	p.pause()
}

// writeBeat carries the UPDATE out. One that changes nothing does not reach the binlog.
func (w *world) writeBeat(n uint64) {
	if w.beat == n {
		return
	}
	w.beat = n
	w.stated = w.write(group{events: stateRows(n)}, commitEvent)
	w.note("heartbeat", int(n))
}
