package rowsync_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
)

// shapes are the tables of the random test. A key is made of a number by the SQL of key.
var shapes = []struct {
	name, source, shadow string
	key                  string // of number n
	change               func(u *undo)
	chunks               bool
}{
	{"number", "id INT NOT NULL PRIMARY KEY, v INT", "id BIGINT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5", "%d", nil, true},
	{"number, replaced", "id INT NOT NULL PRIMARY KEY, v INT", "id INT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5", "%d",
		func(u *undo) { u.spec.Upsert = false }, true},
	{"text", "id VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY, v INT",
		"id VARCHAR(30) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5", "ELT(1 + %[1]d %% 2, 'a%[1]d', 'É%[1]d')", nil, true},
	{"text of another collation", "id VARCHAR(20) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, v INT",
		"id VARCHAR(30) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5", "'k%d'",
		func(u *undo) { u.spec.Upsert, u.spec.KeyChanged = false, true }, false},
	{"unique in both", "id INT NOT NULL PRIMARY KEY, v INT, UNIQUE KEY v (v)",
		"id INT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5, UNIQUE KEY v (v)", "%d", func(u *undo) {
			u.spec.Upsert = false
			u.spec.Unique = []rowsync.UniqueKey{{Name: "v", Enforced: true, Parts: []rowsync.UniquePart{{Shadow: "`v`", Source: "`v`", Text: "`v`"}}}}
		}, true},
	{"unique in the shadow", "id INT NOT NULL PRIMARY KEY, v INT, KEY v (v)",
		"id INT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5, UNIQUE KEY v (v)", "%d", func(u *undo) {
			u.spec.Upsert = false
			u.spec.Unique = []rowsync.UniqueKey{{Name: "v", Parts: []rowsync.UniquePart{{Shadow: "`v`", Source: "`v`", Text: "`v`"}}}}
		}, false},
	{"opaque", "id INT NOT NULL PRIMARY KEY, v INT, UNIQUE KEY v (v)",
		"id INT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5, g INT AS (v + 1) STORED, UNIQUE KEY g (g)", "%d", func(u *undo) {
			u.spec.Upsert, u.spec.Opaque = false, true
		}, false},
}

// TestU5_RandomWritesAndSyncs: random writes, syncs of random keys in any order and by two sessions,
// checkpoints and kills, against a model of the kept values.
func TestU5_RandomWritesAndSyncs(t *testing.T) {
	mysqltest.Seldom(t)
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, shape := range shapes {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("%s, seed %d", shape.name, seed), func(t *testing.T) {
					w := newWorld(t, server, seed, shape.source, shape.shadow, shape.key, func(u *undo) {
						u.spec.Fills = []rowsync.Column{{Shadow: "k", Expr: "'fill'"}}
						if shape.change != nil {
							shape.change(u)
						}
					})
					for range 150 {
						w.step(shape.chunks)
					}
					w.finish()
				})
			}
		}
	})
}

// TestU5_RandomWritesOfOldRows: without fills, where a row of the source may be seen before the change
// of its key is received.
func TestU5_RandomWritesOfOldRows(t *testing.T) {
	mysqltest.Seldom(t)
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		retries := 0
		for _, shape := range shapes {
			t.Run(shape.name, func(t *testing.T) {
				w := newWorld(t, server, 11, shape.source, shape.shadow, shape.key, shape.change)
				w.old = true
				for range 300 {
					w.step(shape.chunks)
				}
				w.finish()
				retries += w.retries
			})
		}
		if retries == 0 {
			t.Error("no row was seen before the change of its key")
		}
	})
}

// numbers is how many keys there are; the first third is in the tables at the swap.
const numbers = 30

// group is a transaction in the binlog.
type group struct {
	keys  []key.Key
	moves []rowsync.Move
}

// world is an undo with its application, its binlog and its backlog.
type world struct {
	*undo
	rng      *rand.Rand
	sessions [2]*dbconn.Session
	key      string
	byNumber []key.Key
	texts    []string // keys as the server shows them

	// The application's.
	rows map[int]int // values by number
	next int         // a value that no row has had
	kept map[int]string
	log  []group
	old  bool // it inserts only old rows

	// The run's.
	mu        sync.Mutex
	moves     carrying
	received  int             // groups
	pending   map[key.Key]int // the oldest group
	flying    map[key.Key]int
	uncarried map[uint64]int // groups by their numbers in moves
	first     int            // where the binlog is read from
}

func newWorld(t *testing.T, server *mysqltest.Instance, seed uint64, source, shadow, keyOf string, change func(u *undo)) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), key: keyOf, rows: map[int]int{}, kept: map[int]string{}, next: 1000}
	var statements []string
	for n := range numbers / 3 {
		w.rows[n], w.kept[n] = n, fmt.Sprintf("old %d|%d", n, 100+n)
		statements = append(statements, fmt.Sprintf("INSERT INTO t VALUES (%s, %d)", fmt.Sprintf(keyOf, n), n),
			fmt.Sprintf("INSERT INTO t_old (id, v, k, n) VALUES (%s, %d, 'old %d', %d)", fmt.Sprintf(keyOf, n), n, n, 100+n))
	}
	w.undo = newUndo(t, server, source, shadow, change, append(statements, "CREATE TABLE t_keys LIKE t")...)
	for n := range numbers {
		w.exec("DELETE FROM t_keys", "INSERT INTO t_keys (id) VALUES ("+fmt.Sprintf(keyOf, n)+")")
		rows, err := w.db.QueryContext(t.Context(), "SELECT "+w.spec.Key.SelectExprs()[0]+", id FROM t_keys")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text string
			k, err := w.spec.ScanKey(rows, &text)
			if err != nil {
				t.Fatal(err)
			}
			w.texts, w.byNumber = append(w.texts, text), append(w.byNumber, k)
		}
		rows.Close()
	}
	w.sessions = [2]*dbconn.Session{w.session, w.open()}
	w.outstanding = w.remaining
	w.begin(0)
	return w
}

// begin is a run that reads the binlog from a group on.
func (w *world) begin(from int) {
	w.moves = w.carry()
	before := binlog.GTIDs{}
	if from > 0 && w.rng.IntN(2) == 0 {
		before, _ = binlog.ParseGTIDs(fmt.Sprintf("%s:1-%d", server, from))
	}
	w.moves.Begin(&before)
	w.received, w.first = from, from
	w.pending, w.flying, w.uncarried = map[key.Key]int{}, map[key.Key]int{}, map[uint64]int{}
}

// receive reads groups. REQUIRES: mu is held.
func (w *world) receive(groups int) {
	for ; groups > 0 && w.received < len(w.log); groups-- {
		g := w.log[w.received]
		w.received++
		if len(g.moves) > 0 {
			number := w.moves.Add(g.moves, place(w.received), named(w.received))
			w.uncarried[number] = w.received - 1
		}
		for _, k := range g.keys {
			if _, is := w.pending[k]; !is {
				w.pending[k] = w.received - 1
			}
		}
	}
}

// remaining is rowsync.Outstanding.
func (w *world) remaining(context.Context, func(key.Key) bool) ([]key.Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receive(len(w.log))
	for k, group := range w.flying {
		w.pending[k] = group
	}
	return slices.Sorted(maps.Keys(w.pending)), nil
}

// safe is the position of a checkpoint.
func (w *world) safe() int {
	safe := w.received
	for _, group := range w.pending {
		safe = min(safe, group)
	}
	carried := w.moves.Carried()
	for number, group := range w.uncarried {
		if number > carried {
			safe = min(safe, group)
		}
	}
	return safe
}

func (w *world) step(chunks bool) {
	switch n := w.rng.IntN(20); {
	case n < 11:
		w.write()
	case n < 13:
		w.receive(1 + w.rng.IntN(4))
	case n < 18:
		w.receive(w.rng.IntN(2))
		w.sync()
	case n < 19:
		w.begin(w.safe()) // killed: another run goes on
	case chunks:
		w.chunk()
	}
}

// sync syncs some of the keys by two sessions.
func (w *world) sync() {
	all := slices.Sorted(maps.Keys(w.pending))
	w.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:w.rng.IntN(len(all)+1)]
	for _, k := range all {
		w.flying[k] = w.pending[k]
		delete(w.pending, k)
	}
	cut := w.rng.IntN(len(all) + 1)
	var workers errgroup.Group
	for i, list := range [][]key.Key{all[:cut], all[cut:]} {
		if len(list) > 0 {
			workers.Go(func() error {
				_, err := w.syncer.Keys(w.Context(), w.sessions[i], list)
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, k := range list {
					delete(w.flying, k)
				}
				return err
			})
		}
	}
	if err := workers.Wait(); err != nil {
		w.Fatal(err)
	}
}

// chunk syncs a range.
func (w *world) chunk() {
	a, b := w.byNumber[w.rng.IntN(numbers)], w.byNumber[w.rng.IntN(numbers)]
	if a > b {
		a, b = b, a
	}
	if a == b || !w.spec.Key.Ordered() {
		a, b = "", ""
	}
	if _, err := w.syncer.Range(w.Context(), w.session, key.Range{From: a, To: b}, false); err != nil {
		w.Fatal(err)
	}
}

func (w *world) literal(n int) string { return fmt.Sprintf(w.key, n) }

// write is a transaction of the application.
func (w *world) write() {
	var g group
	statements := []string{"BEGIN"}
	for range 1 + w.rng.IntN(3) {
		statements = append(statements, w.statement(&g)...)
	}
	w.exec(append(statements, "COMMIT")...)
	w.log = append(w.log, g)
}

// change changes a row's key, in the application and in the model.
func (w *world) change(g *group, from, to int) string {
	w.rows[to] = w.rows[from]
	delete(w.rows, from)
	if values, is := w.kept[from]; is {
		w.kept[to] = values
		delete(w.kept, from)
	}
	g.keys = append(g.keys, w.byNumber[from], w.byNumber[to])
	g.moves = append(g.moves, rowsync.Move{From: w.byNumber[from], To: w.byNumber[to]})
	return fmt.Sprintf("UPDATE t SET id = %s WHERE id = %s", w.literal(to), w.literal(from))
}

func (w *world) statement(g *group) []string {
	present := slices.Sorted(maps.Keys(w.rows))
	var absent []int
	for n := range numbers {
		if _, is := w.rows[n]; !is {
			absent = append(absent, n)
		}
	}
	if w.old {
		old := slices.DeleteFunc(slices.Clone(absent), func(n int) bool { return w.kept[n] == "" })
		if n := w.rng.IntN(12); len(old) > 0 && (n < 4 || len(present) < 5) {
			k := old[w.rng.IntN(len(old))]
			w.next++
			w.rows[k] = w.next
			g.keys = append(g.keys, w.byNumber[k])
			return []string{fmt.Sprintf("INSERT INTO t VALUES (%s, %d)", w.literal(k), w.next)}
		}
	}
	one := func(list []int) int { return list[w.rng.IntN(len(list))] }
	w.next++
	switch n := w.rng.IntN(12); {
	case !w.old && (n < 3 && len(absent) > 1 || len(present) < 3):
		k := one(absent)
		w.rows[k] = w.next
		g.keys = append(g.keys, w.byNumber[k])
		return []string{fmt.Sprintf("INSERT INTO t VALUES (%s, %d)", w.literal(k), w.next)}
	case n < 5 && len(present) > 4:
		k := one(present)
		delete(w.rows, k)
		g.keys = append(g.keys, w.byNumber[k])
		return []string{fmt.Sprintf("DELETE FROM t WHERE id = %s", w.literal(k))}
	case n < 6:
		k := w.rng.IntN(numbers - 1)
		if w.old {
			k = one(present)
		}
		w.rows[k] = w.next
		g.keys = append(g.keys, w.byNumber[k])
		return []string{fmt.Sprintf("REPLACE INTO t VALUES (%s, %d)", w.literal(k), w.next)}
	case n < 7: // two rows exchange their values
		a, b := one(present), one(present)
		w.rows[a], w.rows[b] = w.rows[b], w.rows[a]
		g.keys = append(g.keys, w.byNumber[a], w.byNumber[b])
		return []string{fmt.Sprintf("UPDATE t SET v = -1 WHERE id = %s", w.literal(a)),
			fmt.Sprintf("UPDATE t SET v = %d WHERE id = %s", w.rows[b], w.literal(b)), fmt.Sprintf("UPDATE t SET v = %d WHERE id = %s", w.rows[a], w.literal(a))}
	case n < 8:
		k := one(present)
		w.rows[k] = w.next
		g.keys = append(g.keys, w.byNumber[k])
		return []string{fmt.Sprintf("UPDATE t SET v = %d WHERE id = %s", w.next, w.literal(k))}
	case n < 9 && len(absent) > 0: // two rows exchange their keys
		a, b, free := one(present), one(present), one(absent)
		if a == b {
			return []string{w.change(g, a, free)}
		}
		return []string{w.change(g, a, free), w.change(g, b, a), w.change(g, free, b)}
	case n < 10: // every row above a free key moves down
		var moved []string
		for n := 1; n < numbers; n++ {
			_, taken := w.rows[n-1]
			if _, is := w.rows[n]; is && !taken {
				moved = append(moved, w.change(g, n, n-1))
			}
		}
		return moved
	case len(absent) > 0:
		return []string{w.change(g, one(present), one(absent))}
	}
	return nil
}

// finish syncs what is left and compares the shadow with the model.
func (w *world) finish() {
	w.receive(len(w.log))
	for len(w.pending) > 0 {
		w.sync()
	}
	var want []string
	for n, v := range w.rows {
		values, is := w.kept[n]
		if !is {
			values = "fill|5"
		}
		want = append(want, fmt.Sprintf("%s|%d|%s", w.texts[n], v, values))
	}
	slices.Sort(want)
	got := w.undo.rows("SELECT id, v, k, n FROM t_old")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.Errorf("the shadow has\n%s\nwant\n%s\n%d retries", strings.Join(got, "\n"), strings.Join(want, "\n"), w.retries)
	}
}
