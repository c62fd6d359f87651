package migration_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// writers are the connections that have written to the shadow.
type writers struct {
	mu  sync.Mutex
	all map[int]bool
}

func (w *writers) seen(connection int, command []byte) {
	if strings.Contains(string(command), "INSERT INTO") && strings.Contains(string(command), "`t_shadow`") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all[connection] = true
	}
}

func (w *writers) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// TestARefusedWorkerIsTriedAgain: a worker that got no connection (1040) is begun again after a while, without
// a setting that changes.
func TestARefusedWorkerIsTriedAgain(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(b *bench) {
		const arm = "DO 231040"
		w := writers{all: map[int]bool{}}
		b.numbered(9999)
		b.wire(fault.Rule{Seen: w.seen, Far: 20 * time.Millisecond, After: arm, At: "SELECT CONNECTION_ID()", Error: 1040})
		b.cfg.RowCopy.MinRows, b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 50, 50, 1
		run := b.windowed(alter)
		b.awaited("the row copy", entered(event.PhaseCopy))
		pool, err := b.open(b.ctx())
		if err == nil {
			_, err = pool.DB().ExecContext(b.ctx(), arm)
			pool.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		if err := run.control.Set(b.ctx(), map[string]string{"workers": "2"}); err != nil {
			b.Fatal(err)
		}
		b.awaited("the note about the worker", func(e event.Event) bool {
			n, is := e.(event.Note)
			return is && strings.Contains(n.Text, "worker 2 of the row copy has no connection")
		})
		for deadline := time.Now().Add(30 * time.Second); w.number() < 2 && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
		if p, _, _ := run.control.Standing(); p.Phase != event.PhaseCopy || w.number() != 2 {
			b.Errorf("in the phase %s, %d workers have written, want 2 in the row copy", p.Phase, w.number())
		}
		if err := run.control.Set(b.ctx(), map[string]string{"workers": "16"}); err != nil { // the rest, faster
			b.Error(err)
		}
		run.run.wait(b)
		b.equal()
	})
}
