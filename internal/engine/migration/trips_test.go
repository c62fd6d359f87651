package migration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// trips records what the connections of a run send while the source is locked for the swap.
type trips struct {
	mu     sync.Mutex
	holder int // the connection with the lock; 0 if there is none
	// sent are the commands by their connection, in the present attempt, without the heartbeats
	// and the looks at whether the second session waits.
	sent map[int][]string
	// swapped are those of the attempt that swapped, from the lock up to its release.
	swapped map[int][]string
	by      int // the connection that had the lock then
}

// seen takes a command.
func (s *trips) seen(connection int, command []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(command[1:])
	switch {
	case strings.Contains(text, "LOCK TABLES `") && strings.Contains(text, "`.`t` WRITE"):
		s.holder, s.sent = connection, map[int][]string{}
		return
	case s.holder == 0, strings.Contains(text, "SET beat"), strings.Contains(text, "processlist_state"):
		return
	}
	s.sent[connection] = append(s.sent[connection], text)
	if connection == s.holder && strings.HasPrefix(text, "UNLOCK TABLES") {
		s.swapped, s.by, s.holder = s.sent, connection, 0
	}
}

// most returns how many commands the session with the lock has sent, and the most of another connection.
func (s *trips) most() (holder, other int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for connection, sent := range s.swapped {
		if connection != s.by {
			other = max(other, len(sent))
		}
	}
	return len(s.swapped[s.by]), other
}

// String lists the commands.
func (s *trips) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all strings.Builder
	for connection, sent := range s.swapped {
		for _, text := range sent {
			fmt.Fprintf(&all, "\n%d: %.120q", connection, text)
		}
	}
	return all.String()
}

// TestTripsUnderTheLock counts the statements that a swap sends one after the other while queries wait: on a far
// server each is a round trip. The last heartbeat is one more, or two (plan.Shape.Trips).
func TestTripsUnderTheLock(t *testing.T) {
	const trigger, child = "CREATE TRIGGER %s.tr BEFORE INSERT ON %[1]s.t FOR EACH ROW SET NEW.v = 1",
		"CREATE TABLE %s.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES %[1]s.t (id))"
	for _, c := range []struct {
		name    string
		servers []string
		capture plan.Capture
		undo    time.Duration
		setup   string
		late    string // a change that is committed just before the lock
		// The statements of the session with the lock: RENAME and UNLOCK TABLES at least, or DROP TABLE of the sentinel
		// instead of RENAME. Other connections read at the same time.
		holder, other int
	}{
		{"nothing is left", all, plan.CaptureBinlog, 0, "", "", 2, 2},
		{"changes are left", all, plan.CaptureBinlog, 0, "", "UPDATE %s.t SET v = v + 1 WHERE id <= 20", 5, 2},
		{"the counter is behind", all, plan.CaptureBinlog, 0, "", "INSERT INTO %s.t (id) VALUES (1000), (1001)", 5, 3},
		{"the counter has a gap", all, plan.CaptureBinlog, 0, "", "DELETE FROM %s.t WHERE id = 30", 6, 3},
		{"a trigger moves", all, plan.CaptureBinlog, 0, trigger, "", 18, 16},
		{"a foreign key moves", all[:1], plan.CaptureBinlog, 0, child, "", 8, 10},
		{"an undo is kept", all, plan.CaptureBinlog, time.Hour, "", "", 2, 7},
		{"triggers capture", all, plan.CaptureTrigger, 0, "", "UPDATE %s.t SET v = v + 1 WHERE id <= 20", 11, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			onThese(t, inTurn(t, c.servers), func(b *bench) {
				b.capture, b.cfg.Undo = c.capture, c.undo
				do := func(statement string) {
					if statement != "" {
						b.exec(fmt.Sprintf(statement, b.schema))
					}
				}
				do("CREATE TABLE %s.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
				do("INSERT INTO %s.t VALUES (1, 1), (2, 2), (10, 3), (30, 3)")
				do(c.setup)
				s := &trips{}
				b.wire(fault.Rule{Seen: s.seen, At: "LOCK TABLES `" + b.schema + "`.`t` WRITE", Call: func() { do(c.late) }})
				b.mustMigrate("ADD COLUMN n INT, ADD KEY (v)")
				do("DROP TABLE IF EXISTS %s.t_undo")
				if holder, other := s.most(); holder < 2 || holder > c.holder || other > c.other {
					b.Errorf("%d statements of the session with the lock, %d of another connection; want at most %d and %d: %s",
						holder, other, c.holder, c.other, s)
				}
			})
		})
	}
}

// TestU4_AnUnfitRowCostsOneStatement: an undo sets unfit rows apart by little more than one statement on the old table for each, next
// to rows that fit. If they cost many, writers of such rows outrun it on a busy machine.
func TestU4_AnUnfitRowCostsOneStatement(t *testing.T) {
	onThese(t, inTurn(t, all), func(b *bench) {
		const unfit = 900 // of 1000 rows
		b.exec("CREATE TABLE "+b.schema+".t (id INT AUTO_INCREMENT PRIMARY KEY, n TINYINT NOT NULL)",
			"INSERT INTO "+b.schema+".t (n) VALUES (1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n INT NOT NULL")
		rows := strings.Repeat(", (1000), (-1000), (2000), (200), (-200), (300), (400), (-300), (128), (8)", 100)
		b.exec("INSERT INTO " + b.schema + ".t (n) VALUES (7)" + rows)
		var mu sync.Mutex
		statements := 0
		b.wire(fault.Rule{Seen: func(_ int, command []byte) {
			if text := string(command[1:]); strings.Contains(text, "`t_old`") && !strings.HasPrefix(text, "SELECT") {
				mu.Lock()
				defer mu.Unlock()
				statements++
			}
		}})
		b.mustUndo(planning.Undo{Park: true})
		if most := unfit * 5 / 4; statements < unfit || statements > most {
			b.Errorf("%d statements on the old table for %d unfit rows, want at most %d", statements, unfit, most)
		}
		got := b.value("SELECT CONCAT_WS(' ', (SELECT SUM(n) FROM " + b.schema + ".t), (SELECT COUNT(*) FROM " + b.schema + ".t_parked))")
		if got != "808 900" {
			b.Errorf("the sum of rows and the number of parked rows are %s", got)
		}
		b.exec("DROP TABLE "+b.schema+".t_parked", "DROP TABLE "+b.schema+".t_undo")
	})
}

// TestSwapFarFromTheServer: next to a server that answers 20 ms late, a run swaps with the default bound
// of the work under the lock.
func TestSwapFarFromTheServer(t *testing.T) {
	mysqltest.Seldom(t)
	onThese(t, inTurn(t, all), func(b *bench) {
		b.numbered(100)
		b.wire(fault.Rule{Far: 20 * time.Millisecond})
		b.settings.GiveUp = time.Minute
		result := b.mustMigrate(alter)
		b.Logf("%d attempts, the last one held the lock for %s", result.Attempts, result.LockHeld)
	})
}
