package sim

import (
	"fmt"

	"midstream/internal/mysql/binlog"
)

const mostUnique = 3

// row is a row of source or shadow. The zero row is none.
type row struct {
	version  uint32
	spelling int16
	unique   [mostUnique]int16 // 0 is NULL
}

func (r row) there() bool { return r.version != 0 }

// xa is an XA transaction that is prepared.
type xa struct {
	xid      string
	group    int // that prepared it
	changes  []change
	holds    [mostUnique]map[int16]bool // values that its rows have, before or after
	resolved bool
}

// draft is a transaction of the application while it is being made up.
type draft struct {
	w       *world
	rows    map[int]row
	order   []int // ids in rows
	touched []int // spellings, in the order of the row events
}

// application writes to the source, one transaction a step.
func (w *world) application(p *process) {
	for {
		p.sleep(w.steps + w.rng.IntN(w.opts.Rest))
		p.wait(func() bool { return !w.quiet && !w.lockAsked })
		if w.roll(10) {
			w.write(group{}, commitEvent) // of another table
			continue
		}
		d := &draft{w: w, rows: map[int]row{}}
		operations := 1 + w.rng.IntN(3)
		if w.roll(5) {
			operations = len(w.keys.of)
		}
		for range operations {
			d.operation()
		}
		if len(d.touched) > 0 {
			w.commitDraft(d)
		}
	}
}

func (w *world) commitDraft(d *draft) {
	g := group{events: w.rowEvents(d.touched), touches: true}
	changes := make([]change, len(d.order))
	for i, id := range d.order {
		changes[i] = change{id: id, row: d.rows[id]}
	}
	if w.roll(w.opts.XA) {
		w.prepare(g, d, changes)
		return
	}
	g.changes = changes
	n := w.write(g, commitEvent)
	w.record(changes, n, n)
}

// prepare writes XA PREPARE; the rows stay locked.
func (w *world) prepare(g group, d *draft, changes []change) {
	w.xids++
	x := &xa{xid: fmt.Sprintf("X'%02x',X'',1", w.xids), changes: changes}
	for j := range x.holds {
		x.holds[j] = map[int16]bool{}
	}
	for _, c := range changes {
		w.preparedBy[c.id] = x
		for j, v := range w.latest[c.id].unique {
			x.holds[j][v], x.holds[j][c.row.unique[j]] = true, true
		}
	}
	x.group = w.write(g, func(end binlog.Position) binlog.Event { return binlog.XAPrepared{XID: x.xid, End: end} })
	w.prepared = append(w.prepared, x)
}

// resolver commits prepared XA transactions or rolls them back. NB: also while the
// source is locked: on older servers a detached one holds no metadata lock.
func (w *world) resolver(p *process) {
	var pick *xa
	for {
		p.wait(func() bool {
			pick = nil
			for _, x := range w.prepared {
				if !x.resolved && w.visible > x.group {
					pick = x
				}
			}
			return pick != nil
		})
		if !w.quiet {
			p.sleep(w.steps + w.rng.IntN(w.opts.Hold))
		}
		w.resolve(pick, !w.roll(w.opts.Rollback))
	}
}

func (w *world) resolve(x *xa, commit bool) {
	x.resolved = true
	g := group{commit: func() { w.forget(x) }}
	if commit {
		g.changes = x.changes
	}
	n := w.write(g, func(end binlog.Position) binlog.Event {
		return binlog.XAResolved{XID: x.xid, Committed: commit, End: end}
	})
	if commit {
		w.record(x.changes, n, x.group)
	}
}

// forget releases the locks of an XA transaction.
func (w *world) forget(x *xa) {
	for _, c := range x.changes {
		w.preparedBy[c.id] = nil
	}
	for i, other := range w.prepared {
		if other == x {
			w.prepared = append(w.prepared[:i:i], w.prepared[i+1:]...)
			return
		}
	}
}

// rowEvents cuts the touched keys into row events.
func (w *world) rowEvents(touched []int) []binlog.Event {
	var events []binlog.Event
	for len(touched) > 0 {
		n := min(len(touched), 1+w.rng.IntN(mostTuples))
		tuples := make([][]any, n)
		for i, s := range touched[:n] {
			tuples[i] = w.keys.spellings[s].tuple
		}
		events = append(events, binlog.Rows{Watch: watchSource, Kind: binlog.Update, Tuples: tuples})
		touched = touched[n:]
	}
	return events
}

// mostTuples is the most keys of one row event.
const mostTuples = 3
