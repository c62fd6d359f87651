package throttle

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/units"
)

// Disk is a sensor of the free space of a file system. free returns it in bytes.
func Disk(path string, least int64, free func(path string) (int64, error)) Sensor {
	closed := false
	return Sensor{Name: "disk", Every: 5 * time.Second, Apply: true, Look: func(context.Context) (string, error) {
		now, err := free(path)
		if err != nil {
			return "", err
		}
		if closed = now < least || closed && now < least+least/10; closed {
			return fmt.Sprintf("%s has %s free; at least %s must be", path, units.Size(now), units.Size(least)), nil
		}
		return "", nil
	}}
}

// Growth is a sensor of the bytes that a run has written, for a server with a disk that can't be
// seen. It closes for good when they reach the given free space, less a tenth. written returns the
// bytes.
func Growth(given int64, written func(ctx context.Context) (int64, error)) Sensor {
	return Sensor{Name: "growth", Every: 5 * time.Second, Apply: true, Look: func(ctx context.Context) (string, error) {
		now, err := written(ctx)
		if err != nil || now < given-given/10 {
			return "", err
		}
		return fmt.Sprintf("the new table and the binlog have grown by %s, of %s that were free", units.Size(now), units.Size(given)), nil
	}}
}
