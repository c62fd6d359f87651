package sim

import (
	"fmt"

	"midstream/internal/mysql/binlog"
)

// group is one group of the binlog. It stands there first, and has its effect in the
// engine at a later step; the engine takes groups in the order of the binlog.
type group struct {
	events  []binlog.Event
	changes []change // of the source's rows, that become visible
	touches bool     // the source: LOCK TABLES waits for the engine
	commit  func()   // what else the engine does
}

// change is a row of the source after a transaction.
type change struct {
	id  int
	row row
}

// version is one entry of a key's history.
type version struct {
	row     row
	visible int // group with whose commit the row became visible
	rows    int // group that holds the row's events: another one for XA
}

// The watches of the capture.
const (
	watchSource = iota
	watchState
)

const groupsInFile = 40

// positionOf returns the start of a group, which is the end of the one before it.
func positionOf(group int) binlog.Position {
	return binlog.Position{File: fmt.Sprintf("binlog.%06d", group/groupsInFile), Offset: uint64(group)*10 + 4}
}

func groupAt(p binlog.Position) int { return int(p.Offset-4) / 10 }

// gtidOf names a group: some follow each other in number, some come from elsewhere.
func gtidOf(group int) binlog.GTID {
	g := binlog.GTID{Number: int64(group + 1)}
	g.Source[0] = byte(1 + group/5%3)
	return g
}

// gtidsBefore are the groups before a position.
func gtidsBefore(p binlog.Position) (set binlog.GTIDs) {
	for n := range groupAt(p) {
		set.Add(gtidOf(n), 1)
	}
	return set
}

// position is the end of the binlog.
func (w *world) position() binlog.Position { return positionOf(len(w.groups)) }

// write appends a group to the binlog and returns its number. last makes its last event.
func (w *world) write(g group, last func(end binlog.Position) binlog.Event) int {
	n := len(w.groups)
	g.events = append([]binlog.Event{binlog.Begun{GTID: gtidOf(n)}}, g.events...)
	if n%groupsInFile == 0 {
		g.events = append([]binlog.Event{binlog.Rotated{To: positionOf(n)}}, g.events...)
	}
	g.events = append(g.events, last(positionOf(n+1)))
	g.markXA(w.rng.IntN(4) == 0)
	w.groups = append(w.groups, g)
	w.note("writes group", n)
	return n
}

// markXA marks the rows of an XA transaction's group; doubt marks those of any other
// group too, as the reader does where the server does not say.
func (g *group) markXA(doubt bool) {
	_, prepared := g.events[len(g.events)-1].(binlog.XAPrepared)
	for i, e := range g.events {
		if rows, is := e.(binlog.Rows); is && rows.Watch == watchSource {
			rows.MayBeXA = prepared || doubt
			g.events[i] = rows
		}
	}
}

func commitEvent(end binlog.Position) binlog.Event { return binlog.Commit{End: end} }

// shown says that the engine has committed a group.
func (w *world) shown(group int) func() bool {
	return func() bool { return w.visible > group }
}

// engine commits the groups in the engine, in the order of the binlog.
func (w *world) engine(p *process) {
	for {
		p.wait(func() bool { return w.visible < len(w.groups) })
		g := &w.groups[w.visible]
		for _, c := range g.changes {
			w.source[c.id] = c.row
		}
		w.visible++
		if g.commit != nil {
			g.commit()
		}
		w.note("commits group", w.visible-1)
	}
}

// record writes changes into the history: they are what the source holds once the
// engine is through with the group.
func (w *world) record(changes []change, visible, rows int) {
	for _, c := range changes {
		w.note("changes row", c.id)
		w.latest[c.id] = c.row
		w.history[c.id] = append(w.history[c.id], version{row: c.row, visible: visible, rows: rows})
		w.lockedBy[c.id] = visible
	}
}

// stateRows is the row event of the state table: heartbeats, and checkpoints, whose row
// has the number 0.
func stateRows(beat uint64) []binlog.Event {
	return []binlog.Event{binlog.Rows{Watch: watchState, Kind: binlog.Update, Tuples: [][]any{{int64(beat)}}}}
}
