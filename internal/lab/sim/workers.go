package sim

import (
	"slices"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/binlog"
)

// readBinlog is Capture.Run: it hands the capture some events a step, and none while
// the backlog is full.
func (c *client) readBinlog(p *process) {
	w := c.w
	more := func() bool { return c.reader.group < len(w.groups) && !c.backlog.Full() }
	for {
		p.wait(more)
		if !w.quiet && w.rng.IntN(10_000) < w.opts.Reconnect {
			from := groupAt(c.capture.Restart())
			w.note("the reader's connection was lost; it reads again from group", from)
			c.reader.group, c.reader.event = from, 0
			c.ledger.group = nil
		}
		gulp := w.opts.Gulp
		if w.quiet {
			gulp = 10
		}
		for n := w.rng.IntN(gulp); n >= 0 && more(); n-- {
			g := &w.groups[c.reader.group]
			c.handle(g.events[c.reader.event])
			if c.reader.event++; c.reader.event == len(g.events) {
				c.reader.group, c.reader.event = c.reader.group+1, 0
			}
		}
	}
}

func (c *client) handle(e binlog.Event) {
	if prepared, is := e.(binlog.XAPrepared); is && c.w.defect == XAIsCommit {
		e = binlog.Commit{End: prepared.End}
	}
	if rows, is := e.(binlog.Rows); is && rows.Watch == watchState {
		c.beats++
	}
	if err := c.capture.Handle(e); err != nil {
		panic(err)
	}
	c.ledger.handled(e)
}

func (c *client) writeBeats(p *process) {
	for {
		c.beat(p)
		most := c.w.opts.Beat
		if c.w.quiet {
			most = 10
		}
		p.sleep(c.w.steps + c.w.rng.IntN(most))
	}
}

// rowCopy is a worker of rowcopy.Copier.
func (c *client) rowCopy(p *process) {
	for {
		chunk, pred, more := c.beginChunk(p)
		if !more {
			return
		}
		p.pause()
		c.sync(p, pred)
		if c.w.defect != EndEarly {
			c.endChunk(p, chunk)
		}
	}
}

// beginChunk hands out the next chunk.
func (c *client) beginChunk(p *process) (chunk frontier.Chunk, pred *predicate, more bool) {
	p.wait(func() bool { return !c.next })
	rest, more := c.tracker.Next()
	if !more {
		return chunk, nil, false
	}
	c.next = true
	p.pause()
	to := c.bound(rest)
	pred = &predicate{chunk: true, fresh: c.fresh(), shown: -1}
	if c.w.defect == OldReadView {
		pred.view = slices.Clone(c.w.source)
	}
	p.pause()
	chunk = c.tracker.Begin(to)
	c.next = false
	pred.handed = chunk
	pred.from, pred.to = c.w.keys.bounds(chunk.Range)
	if c.w.defect == LooseBounds {
		pred.loose = c.w.keys.loose(chunk.Range)
	}
	c.lawChunk(pred)
	c.mark(c.begun, chunk.Range)
	c.chunks = append(c.chunks, pred)
	c.w.passed.Chunks++
	c.w.note("begins a chunk: from row", pred.from)
	c.w.note("begins a chunk: up to row", pred.to)
	if c.w.defect == IgnoreBarriers {
		c.placing.End(c.placing.Begin(to))
	}
	return chunk, pred, true
}

// bound looks up the key a random number of rows after the start of the rest; the zero
// key is its end.
func (c *client) bound(rest key.Range) key.Key {
	from, to := c.w.keys.bounds(rest)
	rows := 1 + c.w.rng.IntN(c.w.opts.Chunk)
	for id := from; id < to; id++ {
		r := c.w.source[id]
		if !r.there() {
			continue
		}
		if rows == 0 {
			return c.w.keys.spellings[r.spelling].key
		}
		rows--
	}
	return ""
}

// endChunk is what a copier does once its chunk is committed.
func (c *client) endChunk(p *process, chunk frontier.Chunk) {
	c.tracker.End(chunk)
	c.mark(c.copied, chunk.Range)
	c.chunks = slices.DeleteFunc(c.chunks, func(other *predicate) bool { return other.handed == chunk })
	c.w.note("ends chunk", int(chunk.Number))
	p.pause()
	c.backlog.Wake()
	c.wake++
	p.pause()
}

// apply is a worker of apply.Applier.
func (c *client) apply(p *process, worker int) {
	for {
		seen := c.wake
		p.wait(func() bool { return !c.applyStop })
		if c.takeAndSync(p, worker) == 0 {
			p.wait(func() bool { return c.wake != seen })
		}
	}
}

// takeAndSync syncs one batch of the worker's keys and returns their number.
func (c *client) takeAndSync(p *process, worker int) int {
	batch := c.backlog.TryTake(worker, 1+c.w.rng.IntN(c.w.opts.Batch))
	if batch == nil {
		return 0
	}
	slices.Sort(batch.Keys)
	t := c.ledger.took(batch, worker)
	c.batches = append(c.batches, t)
	c.w.passed.Batches++
	for _, s := range t.pred.keys {
		c.w.note("takes a key of row", c.w.keys.spellings[s].id)
	}
	p.pause()
	if c.w.defect == DoneEarly {
		c.backlog.Done(batch)
	}
	switch {
	case c.w.roll(c.w.opts.Return) && !c.w.quiet:
		if c.w.defect == ForgetReturned {
			c.backlog.Done(batch)
			break
		}
		c.backlog.Return(batch)
		c.ledger.returned(t)
		c.w.note("gives back keys", len(batch.Keys))
	default:
		c.sync(p, t.pred)
		if c.w.defect != DoneEarly {
			c.backlog.Done(batch)
		}
		c.w.note("has synced keys", len(batch.Keys))
	}
	c.batches = slices.DeleteFunc(c.batches, func(other *taken) bool { return other == t })
	c.wake++
	p.pause()
	return len(batch.Keys)
}

// checkpoints saves a checkpoint now and then.
func (c *client) checkpoints(p *process) {
	for {
		safe := c.capture.Safe()
		position := safe.Position
		c.lawGTIDs(safe)
		if c.w.defect == ReaderPosition {
			position = positionOf(c.reader.group)
		}
		p.pause()
		ranges := c.tracker.Copied()
		if c.w.defect == ClaimInFlight {
			ranges = c.handedOut()
		}
		saved := &checkpoint.Checkpoint{
			Version: checkpoint.Version, Copied: checkpoint.Ranges(ranges), Position: position.String(),
		}
		c.send(p, func() { c.w.writeCheckpoint(saved) })
		p.wait(c.w.shown(c.w.stated))
		most := c.w.opts.Save
		if c.w.quiet {
			most = 1000
		}
		p.sleep(c.w.steps + c.w.rng.IntN(most))
	}
}

func (w *world) writeCheckpoint(saved *checkpoint.Checkpoint) {
	w.stated = w.write(group{events: stateRows(0), commit: func() { w.saved = saved }}, commitEvent)
	w.note("checkpoint", len(saved.Copied))
}

// handedOut is what a checkpoint would claim that takes chunks in flight for copied.
func (c *client) handedOut() []key.Range {
	rest, more := c.tracker.Next()
	if !more {
		return []key.Range{{}}
	}
	if rest.From == "" {
		return nil
	}
	return []key.Range{{To: rest.From}}
}
