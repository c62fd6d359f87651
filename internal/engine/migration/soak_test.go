package migration_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// Flags of the soak: make soak runs it for hours, and make test runs one round.
var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak goes on")
	soakSeed = flag.Uint64("soak-seed", uint64(time.Now().UnixNano()), "what TestSoak begins with")
)

// TestSoak runs changes with random options on random tables under the writer. Something happens to
// most of them. At the end of each change the table must equal the ledger.
func TestSoak(t *testing.T) {
	mysqltest.Seldom(t)
	began, random := time.Now(), rand.New(rand.NewPCG(*soakSeed, 7))
	happened := map[string]int{}
	for n := 0; n == 0 || time.Since(began) < *soakFor; n++ {
		s := soak{random: rand.New(rand.NewPCG(random.Uint64(), 1)), happened: happened}
		if !t.Run(fmt.Sprint(n), s.run) {
			t.Fatalf("seed %d, round %d", *soakSeed, n)
		}
	}
	t.Logf("seed %d, %s: %v", *soakSeed, time.Since(began).Round(time.Second), happened)
}

// soak is one round.
type soak struct {
	*bench
	random   *rand.Rand
	happened map[string]int
}

func (s *soak) oneOf(words ...string) string { return words[s.random.IntN(len(words))] }

func (s *soak) run(t *testing.T) {
	s.bench = setup(t, versions[s.random.IntN(len(versions))])
	s.steered = true
	profiles := ledger.Profiles()
	profile := profiles[s.random.IntN(len(profiles))]
	rows := 500 + s.random.IntN(20_000)
	if *soakFor == 0 { // on a commit: with more, the run gives way to the writer for minutes
		rows = min(rows, 3000)
	}
	options := ledger.Options{Rate: float64(50 + s.random.IntN(400)), Writers: 1 + s.random.IntN(5)}
	if s.random.IntN(3) == 0 {
		options.HotRows, options.HotShare = 20, 80
	}
	l := s.ledger(profile, rows, options)
	s.start(l)
	for n := range 1 + s.random.IntN(3) {
		clauses := fmt.Sprintf("ADD COLUMN added%d %s", n, s.oneOf("INT NOT NULL DEFAULT 7", "VARCHAR(40) NOT NULL DEFAULT 'x'", "JSON",
			fmt.Sprintf("DATETIME(3) DEFAULT NULL, ADD INDEX (added%d)", n), "BIGINT UNSIGNED, ENGINE=InnoDB", "INT, ROW_FORMAT=DYNAMIC"))
		flags := []string{
			"--drop-old",
			"--chunk-time=" + s.oneOf("10ms", "50ms", "250ms"),
			"--checkpoint=" + s.oneOf("20ms", "200ms", "5s"),
			"--workers=" + s.oneOf(
				"1", "2", "4",
			),
			"--apply-workers=" + s.oneOf("1", "2", "4"),
			"--defer-indexes=" + s.oneOf("auto", "yes", "no"),
		}
		flags = append(flags, s.oneOf("--full-speed", "--quiet=false"), s.oneOf("--no-verify", "--lock-wait=250ms", "--lock-wait=100ms"))
		what := s.oneOf("nothing", "kill -9", "kill -9", "hang up", "KILL", "fault")
		s.happened[profile.Name+" "+s.version]++
		s.happened[what]++
		s.Logf("%s, %d rows, %+v: %s %v: %s", profile.Name, rows, options, clauses, flags, what)
		s.change(what, clauses, flags)
	}
	s.mustMatchLedger(l)
}

// insist repeats the command if it failed before it had begun, while it planned.
func (s *soak) insist(clauses string, flags []string) {
	code, last := s.child(clauses, "", nil, flags...).wait()
	if code == 1 && strings.Contains(last, "nothing was written") {
		code, last = s.child(clauses, "", nil, flags...).wait()
	}
	if code != 0 {
		s.Fatalf("exit code %d: %s", code, last)
	}
}

// change runs one change, to which something happens.
func (s *soak) change(what, clauses string, flags []string) {
	// What does not happen to this run must not happen to the next run.
	soon := func(do func()) (stop func()) {
		done := make(chan struct{})
		timer := time.AfterFunc(time.Duration(s.random.IntN(4000))*time.Millisecond, func() {
			defer close(done)
			do()
		})
		return func() {
			if !timer.Stop() {
				<-done
			}
		}
	}
	switch what {
	case "nothing":
		s.child(clauses, "", nil, flags...).mustEnd()
	case "kill -9":
		tries := 1 + s.random.IntN(4)
		s.killed(clauses, func(n int, c *child) bool {
			if n < tries {
				soon(c.kill)
			}
			return n < tries
		}, flags...)
	case "hang up":
		w := s.wire(fault.Rule{})
		soon(w.HangUp)
		s.insist(clauses, flags)
		w.Close()
		s.address = s.server.Address
	case "KILL":
		stop := soon(s.killOne)
		s.insist(clauses, flags)
		stop()
	case "fault":
		rule := []fault.Rule{{Cut: true}, {Deaf: true}, {Delay: 2 * time.Second}, {Error: 1040}, {Error: 1317},
			{Error: 1290}}[s.random.IntN(6)]
		rule.Nth = 1 + s.random.IntN(400)
		s.faultAt(rule, clauses)
	}
}
