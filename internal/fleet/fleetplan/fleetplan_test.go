package fleetplan

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"midstream/internal/fleet/inventory"
	"midstream/internal/ops/record"
)

// fits is the answer of a server without a problem.
func fits(n int, method string, lines ...string) Answer {
	a := Answer{Server: fmt.Sprintf("%03d", n), Address: fmt.Sprintf("db%d:3306", n), Version: "MySQL 8.0.36", Table: "shop.orders", Method: method,
		Outcome: Fits, LeastMS: record.MS(1000 * n), MostMS: record.MS(2000 * n), Rows: 10}
	a.Define(lines)
	return a
}

// other is an answer with another outcome.
func other(n, code int, err string, problems ...string) Answer {
	a := Answer{Server: fmt.Sprintf("%03d", n), Address: fmt.Sprintf("db%d:3306", n), Table: "shop.orders", ExitCode: code, Outcome: OutcomeOf(code), Error: err}
	for _, p := range problems {
		a.Problems = append(a.Problems, record.Risk{Code: "x", What: p})
	}
	return a
}

// TestGroups: servers with the same outcome, method and problems are one group, whatever their names are.
func TestGroups(t *testing.T) {
	usual := []string{"`id` int NOT NULL", "`a` int", "ENGINE=InnoDB"}
	r := Of(Asked{}, []Answer{
		fits(0, "instant", usual...), fits(1, "shadow", usual...), fits(2, "instant", "`id` int NOT NULL", "`a` bigint", "ENGINE=InnoDB"), fits(3, "instant", usual...),
		fits(4, "instant", "`a` int", "`id` int NOT NULL", "ENGINE=InnoDB"),
		other(5, record.CodeRefused, "", "db5:3306 has a column note in shop.orders already"), other(6, record.CodeRefused, "", "db6:3306 has a column note in shop.orders already"),
		other(7, record.CodeFailed, "connect to db7:3306: refused"), other(8, record.CodeFailed, "connect to db8:3306: refused"), other(9, record.CodeBusy, "another run"),
	}, time.Second)
	var got []string
	for _, g := range r.Groups {
		got = append(got, fmt.Sprint(g.Outcome, " ", g.Method, " ", g.Servers, " ", g.Reason, " ", g.LeastMS, " ", g.MostMS, " ", g.Rows))
	}
	want := []string{"fits instant [000 002 003 004]  0 8000 40", "fits shadow [001]  1000 2000 10",
		"refused  [005 006] the server has a column note in the table already 0 0 0", "refused  [009] another run 0 0 0",
		"failed  [007 008] connect to the server: refused 0 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("groups\n%q\nwant\n%q", got, want)
	}
	if r.Common == nil || r.Common.Servers != 3 || len(r.Drift) != 2 {
		t.Fatalf("common %v, drift %v", r.Common, r.Drift)
	}
	if d := r.Drift[0]; !slices.Equal(d.Lacks, []string{"`a` int"}) || !slices.Equal(d.Has, []string{"`a` bigint"}) || !slices.Equal(d.Servers, []string{"002"}) {
		t.Errorf("drift %+v", d)
	}
	if d := r.Drift[1]; !slices.Equal(d.Has, []string{"columns in another order: a, id"}) {
		t.Errorf("drift %+v", d)
	}
	if r.ExitCode != record.CodeRefused {
		t.Errorf("exit code %d", r.ExitCode)
	}
}

// TestExitCode: what a person must remove comes before what passes by itself.
func TestExitCode(t *testing.T) {
	ok, drift := fits(0, "instant", "`a` int"), fits(1, "instant", "`a` bigint")
	for _, c := range []struct {
		answers []Answer
		allowed bool
		want    int
	}{
		{[]Answer{ok}, false, record.CodeDone},
		{[]Answer{ok, drift}, false, record.CodeRefused},
		{[]Answer{ok, drift}, true, record.CodeDone},
		{[]Answer{ok, other(2, record.CodeFailed, "")}, false, record.CodeFailed},
		{[]Answer{ok, other(2, record.CodeBusy, "")}, false, record.CodeBusy},
		{[]Answer{ok, other(2, record.CodeBusy, ""), other(3, record.CodeFailed, "")}, false, record.CodeFailed},
		{[]Answer{other(2, record.CodeFailed, ""), other(3, record.CodeWrongUsage, "")}, false, record.CodeWrongUsage},
		{[]Answer{other(2, record.CodeUnfit, ""), other(3, record.CodeWrongUsage, "")}, false, record.CodeUnfit},
		{[]Answer{other(2, record.CodeUnfit, ""), other(3, record.CodeRefused, ""), other(4, record.CodeBusy, "")}, false, record.CodeRefused},
	} {
		if r := Of(Asked{AllowDrift: c.allowed}, c.answers, 0); r.ExitCode != c.want {
			t.Errorf("%v: exit code %d, want %d", c.answers, r.ExitCode, c.want)
		}
	}
}

// TestSame: two servers of the inventory that are the same table of one server are named.
func TestSame(t *testing.T) {
	a, b, c := fits(0, "instant"), fits(1, "instant"), fits(2, "instant")
	a.UUID, b.UUID, c.UUID = "u", "u", "u"
	c.Table = "other.orders"
	if r := Of(Asked{}, []Answer{a, b, c}, 0); fmt.Sprint(r.Same) != "[[000 001]]" {
		t.Errorf("same: %v", r.Same)
	}
}

// TestAskKeepsLimits: never are more servers asked at the same time than the limits permit, and each is asked once.
func TestAskKeepsLimits(t *testing.T) {
	var servers []inventory.Server
	for n := range 60 {
		s := inventory.Server{Name: fmt.Sprintf("%03d", n), Labels: map[string]string{}}
		if n%3 > 0 {
			s.Labels["host"] = fmt.Sprintf("h%d", n%6)
		}
		servers = append(servers, s)
	}
	var mu sync.Mutex
	now, most, of, mostOf := 0, 0, map[string]int{}, 0
	last := 0
	answers := Ask(t.Context(), servers, Limits{Parallel: 12, PerHost: 2}, func(_ context.Context, s inventory.Server) Answer {
		host := s.Labels["host"]
		mu.Lock()
		now++
		of[host]++
		most = max(most, now)
		if host != "" {
			mostOf = max(mostOf, of[host])
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		now--
		of[host]--
		return Answer{Outcome: Fits, Address: s.Name}
	}, func(done int) { last = done })
	if most > 12 || mostOf > 2 || most < 3 || last != 60 {
		t.Errorf("%d at once, %d of one host, %d done", most, mostOf, last)
	}
	for i, a := range answers {
		if a.Server != servers[i].Name || a.Address != a.Server {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
}

// TestTwoThousandMembers: with a simulated planner of 10 ms, what is between the plans costs little time and memory.
func TestTwoThousandMembers(t *testing.T) {
	servers := make([]inventory.Server, 2000)
	for n := range servers {
		servers[n] = inventory.Server{Name: fmt.Sprintf("%04d", n), Labels: map[string]string{"host": fmt.Sprint(n / 4)}}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	answers := Ask(t.Context(), servers, Limits{Parallel: 32, PerHost: 4}, func(_ context.Context, s inventory.Server) Answer {
		time.Sleep(10 * time.Millisecond)
		a := fits(len(s.Name), "instant")
		lines := make([]string, 40)
		for i := range lines {
			lines[i] = fmt.Sprintf("`column_%d` varchar(40) NOT NULL COLLATE utf8mb4_general_ci", i)
		}
		a.Define(lines)
		return a
	}, nil)
	r := Of(Asked{}, answers, time.Since(began))
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d servers in %s, %d MB", r.Servers, took, grown>>20)
	if len(r.Groups) != 1 || took > 20*time.Second || grown > 50<<20 {
		t.Errorf("%d groups in %s, %d MB", len(r.Groups), took, grown>>20)
	}
}
