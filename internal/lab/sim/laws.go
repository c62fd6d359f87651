package sim

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/binlog"
)

// Violation is a law that a run broke.
type Violation struct {
	Law  string
	What string

	Seed    uint64
	Options Options
	Step    int
	Trace   string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("law broken: %s: %s (seed %d, step %d)", v.Law, v.What, v.Seed, v.Step)
}

func (w *world) fail(law, format string, args ...any) {
	panic(&Violation{Law: law, What: fmt.Sprintf(format, args...)})
}

// check holds the laws against the world after a step.
func (w *world) check() {
	w.lawSaved()
	if c := w.client; c.capture != nil {
		c.lawNothingLost()
		c.lawPosition()
		c.lawBounded()
	}
}

// lawNothingLost: where the shadow's row is not the source's, something is still to
// come that will make it so. From it follows that the two are equal in the end.
func (c *client) lawNothingLost() {
	for id := range c.w.latest {
		if !c.w.equal(id) && !c.toCome(id) {
			c.w.fail("nothing is lost", "row %d is %v in the source and %v in the shadow, and nothing will change that",
				id, c.w.latest[id], c.w.shadowRows(id))
		}
	}
}

// toCome says that a sync will read the last change of a row.
func (c *client) toCome(id int) bool {
	if !c.begun[id] {
		return true
	}
	h := c.w.history[id]
	if last := h[len(h)-1]; last.visible >= c.reader.group && last.rows >= c.reader.from {
		return true
	}
	for _, s := range c.w.keys.of[id] {
		if c.ledger.holds(s) {
			return true
		}
	}
	for _, pred := range c.chunks {
		if pred.selects(c.w.keys, id) && c.covers(pred, id) {
			return true
		}
	}
	for _, t := range c.batches {
		if t.pred.selects(c.w.keys, id) && c.covers(t.pred, id) {
			return true
		}
	}
	return false
}

// covers says that a sync under way leaves a row as the source has it.
func (c *client) covers(pred *predicate, id int) bool {
	if pred.done {
		return false
	}
	for _, s := range c.running {
		if s.p == pred {
			return s.sees(id, c.w.latest[id])
		}
	}
	return true
}

// equal says that the shadow has the source's row, and no other of its identity.
func (w *world) equal(id int) bool {
	there := false
	for _, i := range w.keys.holdIn[id] {
		r := w.shadow[i].committed()
		if r.there() && r != w.latest[id] {
			return false
		}
		there = there || r.there()
	}
	return there == w.latest[id].there()
}

func (w *world) shadowRows(id int) (rows []row) {
	for _, i := range w.keys.holdIn[id] {
		if r := w.shadow[i].committed(); r.there() {
			rows = append(rows, r)
		}
	}
	return rows
}

// lawPosition is L5 for a checkpoint that were taken now, and that neither position nor
// segment goes back.
func (c *client) lawPosition() {
	position := c.capture.Safe().Position
	c.w.lawResumable("now", groupAt(position), c.copied)
	if position.Compare(c.safe) < 0 {
		c.w.fail("L5", "the safe position went back from %s to %s", c.safe, position)
	}
	oldest := c.backlog.Oldest()
	if oldest < c.oldest {
		c.w.fail("L5", "the oldest segment went back from %d to %d", c.oldest, oldest)
	}
	c.safe, c.oldest = position, oldest
}

// lawGTIDs is L5 for a server that takes this one's place: the transactions that a checkpoint
// says are before its position are those.
func (c *client) lawGTIDs(safe capture.Point) {
	want := gtidsBefore(safe.Position)
	if c.nameless {
		want = binlog.GTIDs{} // nothing is known of what stood before its start
	}
	if safe.GTIDs.String() != want.String() {
		c.w.fail("L5", "before %s are the transactions %s, and the checkpoint says %s", safe.Position, want.String(), safe.GTIDs.String())
	}
}

// lawSaved is L5 for the checkpoint on the server.
func (w *world) lawSaved() {
	if w.saved == nil {
		return
	}
	if w.judged != w.saved {
		w.judge()
	}
	w.lawResumable("as saved", w.judgedFrom, w.judgedCopied)
}

// judge takes the checkpoint apart.
func (w *world) judge() {
	position, err := binlog.ParsePosition(w.saved.Position)
	if err != nil {
		w.fail("L5", "the checkpoint can't be read: %v", err)
	}
	w.judged, w.judgedFrom, w.judgedCopied = w.saved, groupAt(position), make([]bool, len(w.latest))
	for _, r := range checkpoint.KeyRanges(w.saved.Copied) {
		from, to := w.keys.bounds(r)
		for id := from; id < to; id++ {
			w.judgedCopied[id] = true
		}
	}
}

// lawResumable: of a row in a range that is claimed, every change after the one that
// the shadow shows stands in the binlog behind the position. Where rows are overwritten
// the last one is enough: a sync during which the row goes leaves it as it was, and the
// deletion has it synced again.
func (w *world) lawResumable(which string, from int, copied []bool) {
	for id, claimed := range copied {
		if !claimed || w.equal(id) {
			continue
		}
		h := w.history[id]
		first := w.shows(id) + 1
		if w.opts.overwrites() {
			first = len(h) - 1
		}
		for i := first; i < len(h); i++ {
			if h[i].rows < from {
				w.fail("L5", "the checkpoint %s begins at group %d and claims row %d, of which the shadow lacks the change of group %d",
					which, from, id, h[i].rows)
			}
		}
	}
	for _, x := range w.prepared {
		for _, c := range x.changes {
			if !x.resolved && copied[c.id] && x.group < from {
				w.fail("L5", "the checkpoint %s begins at group %d, behind the prepared XA transaction of group %d", which, from, x.group)
			}
		}
	}
}

// shows returns the place in a row's history that the shadow is at.
func (w *world) shows(id int) int {
	h := w.history[id]
	rows := w.shadowRows(id)
	if len(rows) == 0 {
		if w.opts.KeyChanged { // it may have been evicted: its last change will bring it back
			return len(h) - 2
		}
		rows = []row{{}}
	}
	at := len(h)
	for _, r := range rows {
		i := len(h) - 1
		for i >= 0 && h[i].row != r {
			i--
		}
		if i < 0 {
			w.fail("nothing is made up", "row %d is %v in the shadow and was never so in the source", id, r)
		}
		at = min(at, i)
	}
	return at
}

// lawBounded: the backlog holds no more than its limit and one event's keys.
func (c *client) lawBounded() {
	if c.w.opts.KeyChanged && !c.w.keys.codec.Ordered() {
		return // what awaits the end of the row copy is not bounded, and all of it is due then
	}
	if n := c.backlog.Len(); n > max(0, c.w.opts.Limit-1)+c.ledger.largest {
		c.w.fail("bounded memory", "the backlog holds %d keys, its limit is %d and the largest event had %d",
			n, c.w.opts.Limit, c.ledger.largest)
	}
}

// lawSwap is L6: what the swap would make the table is what the source is.
func (c *client) lawSwap() {
	w := c.w
	for id := range w.latest {
		if !w.equal(id) || w.source[id] != w.latest[id] {
			w.fail("L6", "at the swap row %d is %v in the source and %v in the shadow", id, w.latest[id], w.shadowRows(id))
		}
	}
	for _, x := range w.prepared {
		if !x.resolved {
			w.fail("L6", "at the swap the XA transaction of group %d is prepared", x.group)
		}
	}
	if n := c.backlog.Len(); n > 0 {
		w.fail("L6", "at the swap the backlog holds %d keys", n)
	}
	w.note("could swap", len(w.latest))
}

// lawChunk: every range is handed out once.
func (c *client) lawChunk(pred *predicate) {
	for id := pred.from; id < pred.to; id++ {
		if c.begun[id] {
			c.w.fail("L2", "row %d is handed out twice", id)
		}
	}
}

// enter begins a sync and holds L2 against those that run.
func (c *client) enter(s *syncing) {
	for _, other := range c.running {
		c.lawOverlap(s.p, other.p)
	}
	c.running = append(c.running, s)
}

func (c *client) leave(s *syncing) {
	c.running = slices.DeleteFunc(c.running, func(other *syncing) bool { return other == s })
}

// lawOverlap is L2: no row is in two syncs that run; but for one in a chunk and in a list
// of keys, where the client can't compare keys or doesn't drop those ahead. Whether the
// two are then rightly ordered in time shows in lawNothingLost.
func (c *client) lawOverlap(a, b *predicate) {
	u := c.w.keys
	lawful := a.chunk != b.chunk && (!u.codec.Ordered() || c.keepsAhead()) && len(a.extras)+len(b.extras) == 0
	if lawful {
		return
	}
	for id := range u.of {
		if a.selects(u, id) && b.selects(u, id) {
			c.w.fail("L2", "two syncs of row %d run at the same time", id)
		}
	}
}

// state says who waits.
func (c *client) state() string {
	var b strings.Builder
	for _, p := range c.w.all() {
		fmt.Fprintf(&b, "%s ended=%v; ", p.name, p.ended)
	}
	if c.backlog != nil {
		fmt.Fprintf(&b, "backlog %d, oldest %d, reader at %d of %d, visible %d",
			c.backlog.Len(), c.backlog.Oldest(), c.reader.group, len(c.w.groups), c.w.visible)
	}
	return b.String()
}
