//go:build unix

package queue

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"midstream/internal/ops/socket"
)

// TestPlansAreBounded: a bounded number of plans is made at once, more wait for their turn, and the
// rest is refused with 503.
func TestPlansAreBounded(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	folder := t.TempDir()
	s.cfg.Executable = filepath.Join(folder, "midstream")
	// Each process counts the processes at work, and waits for the file go.
	script := fmt.Sprintf(
		"#!/bin/sh\ntouch %[1]s/at-$$\nls %[1]s | grep -c ^at- >> %[1]s/count\nwhile [ ! -e %[1]s/go ]; do sleep 0.02; done\nrm %[1]s/at-$$\n",
		folder,
	)
	if err := os.WriteFile(s.cfg.Executable, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	const asked = MostPlans + mostPlansWaiting + 5
	refused := make(chan error, asked)
	var all sync.WaitGroup
	for range asked {
		all.Go(func() {
			_, err := s.Plan(t.Context(), PlanQuestion{Server: "db1", Statement: "DROP TABLE shop.orders"})
			refused <- err
		})
	}
	for range asked - MostPlans - mostPlansWaiting {
		var p *socket.Problem
		if err := <-refused; !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.Next == "" {
			t.Errorf("%v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for range MostPlans + mostPlansWaiting {
		if err := <-refused; err != nil {
			t.Error(err)
		}
	}
	counts, err := os.ReadFile(filepath.Join(folder, "count"))
	if err != nil {
		t.Fatal(err)
	}
	for count := range strings.FieldsSeq(string(counts)) {
		if len(count) > 1 || count > fmt.Sprint(2*MostPlans) {
			t.Errorf("%s processes at once", count)
		}
	}
}
