package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// keepEvery is the time between two writes of a file: node_exporter is mostly asked every 15 s.
const keepEvery = 5 * time.Second

// Keep writes the metrics to a file, whole each time, as the textfile collector of node_exporter
// reads them, until stop is called, which writes them once more. Its error is that of the last
// write.
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
				_ = write() // the last one tells
			}
		}
	}()
	return func() error {
		close(quit)
		<-done
		return write()
	}, nil
}
