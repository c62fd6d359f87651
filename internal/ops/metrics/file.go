package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// keepEvery is the time between two writes of a file. Prometheus usually reads it every 15 s.
const keepEvery = 5 * time.Second

// Keep writes the metrics to a file for the textfile collector of node_exporter, and replaces the
// file each time. The function stop writes the file once more, and returns the error of that write.
func (r *Run) Keep(path string) (stop func() error, err error) {
	write := func() error {
		if err := prometheus.WriteToTextfile(path, r.registry); err != nil {
			return fmt.Errorf("write the metrics: %w", err)
		}
		return nil
	}
	if err := write(); err != nil {
		return nil, err
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(keepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				_ = write() // the last write reports an error
			}
		}
	}()
	return func() error {
		close(quit)
		<-done
		return write()
	}, nil
}
