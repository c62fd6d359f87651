//go:build unix

package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"midstream/internal/mysql/schema"
)

// full returns a service with waiting changes: half of them on one table, the others on a table
// each. A run on another machine takes the only place on their server.
func full(tb testing.TB, waiting int) *Service {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "s.db")
	store, err := OpenFile(path)
	if err == nil {
		err = store.Close()
	}
	db, failed := bolt.Open(path, 0o600, nil)
	if err := errors.Join(err, failed); err != nil {
		tb.Fatal(err)
	}
	began := time.Now().UTC()
	err = db.Update(func(tx *bolt.Tx) error {
		for n := range waiting + 1 {
			table := "orders"
			if n%2 == 0 {
				table += fmt.Sprint(n)
			}
			e := entry{Sequence: uint64(n + 1), Tables: []schema.Name{{Schema: "shop", Table: table}}}
			e.Change = Change{
				ID:          fmt.Sprintf("c-%d", n),
				Server:      "db1",
				Table:       "shop." + table,
				State:       StateWaiting,
				Submitted:   began,
				SubmittedBy: "Ada from 127.0.0.1",
				Statement:   "ALTER TABLE shop." + table + " ADD COLUMN note VARCHAR(40)",
				Options:     map[string]string{},
				After:       []string{},
			}
			if n == 0 {
				e.State, e.Place, e.Began = StateRunning, "elsewhere", &began
			}
			text, err := json.Marshal(e)
			if err == nil {
				err = tx.Bucket(changesBucket).Put([]byte(e.ID), text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		tb.Fatal(err)
	}
	if store, err = OpenFile(path); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	s, err := Open(
		context.Background(),
		Config{Executable: "/nowhere", Folder: tb.TempDir(), ControlFolder: filepath.Join(tb.TempDir(), "c"), Limit: 1, Read: reading,
			Servers: []Server{{Name: "db1", Reach: []string{"--defaults-file=/etc/db1.cnf"}}}, Note: func(string) {}},
		store,
	)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// waits are the lengths of the queue that benchmarks measure.
var waits = []int{100, 1000, 10_000}

// atWork runs a service until the benchmark ends.
func atWork(b *testing.B, s *Service) {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(ctx) // it fails only if its store is taken
	}()
	b.Cleanup(func() { end(); <-ended })
}

// BenchmarkSubmission measures how long the API takes for a submission next to a queue at work. The
// disk is part of it: each one is written and synced. On a busy machine, read cpu-ms/op, and
// compare the lengths of the queue:
//
//	go test ./internal/ops/queue -run '^$' -bench 'Submission|Idle|List'
func BenchmarkSubmission(b *testing.B) {
	for _, n := range waits {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) {
			s := full(b, n)
			atWork(b, s)
			handler := s.Handler()
			var took []time.Duration
			count, before := 0, processor(b)
			for b.Loop() {
				count++
				body := fmt.Sprintf(`{"id":"new-%d","server":"db1","statement":"ALTER TABLE shop.orders ADD COLUMN c%[1]d INT"}`, count)
				request := httptest.NewRequest(http.MethodPost, "/v1/changes", strings.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				response, began := httptest.NewRecorder(), time.Now()
				handler.ServeHTTP(response, request)
				took = append(took, time.Since(began))
				if response.Code != http.StatusCreated {
					b.Fatal(response.Code, response.Body)
				}
			}
			b.ReportMetric(float64((processor(b)-before).Microseconds())/1000/float64(count), "cpu-ms/op")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/most")
		})
	}
}

// BenchmarkIdle measures the share of a core that a queue takes in which nothing can begin. An operation is a second.
func BenchmarkIdle(b *testing.B) {
	for _, n := range waits {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) {
			s := full(b, n)
			atWork(b, s)
			time.Sleep(time.Second) // after the first check
			before, began := processor(b), time.Now()
			for b.Loop() {
				time.Sleep(time.Second)
			}
			b.ReportMetric(100*float64(processor(b)-before)/float64(time.Since(began)), "%core")
		})
	}
}

// BenchmarkList measures the list of all changes, as the API and the pages make it.
func BenchmarkList(b *testing.B) {
	for _, n := range waits {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) {
			s := full(b, n)
			for b.Loop() {
				if len(s.Changes()) != n+1 {
					b.Fatal("changes are missing")
				}
			}
		})
	}
}

// processor is the time that this process has had a processor.
func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
