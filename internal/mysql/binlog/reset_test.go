package binlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL6_AResetInTheSecondOfAFileIsNoDamage: the server begins its binlog again in the second in which it has created the file that a
// reader reads. So the new file has the same name and time of creation. The reader reports the reset, and no damage.
func TestL6_AResetInTheSecondOfAFileIsNoDamage(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range mysqltest.InTurn(t, versions...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, mysqltest.Own(t, version, sandbox.Options{}))
			b.exec("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARBINARY(2000))")
			watch := b.watch("t", "id")
			resets := 0
			for try := range 12 {
				err := b.resetEarly(watch, try)
				if errors.Is(err, ErrPurged) {
					resets++
				} else if !errors.Is(err, ErrConnection) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("try %d: %v", try, err)
				}
			}
			if resets == 0 {
				t.Error("no reset was reported")
			}
		})
	}
}

// resetEarly resets the binlogs twice within a second, the second time behind a reader, and returns its error.
func (b *bundle) resetEarly(watch Watch, try int) error {
	b.t.Helper()
	reset := func() {
		if !b.try("RESET BINARY LOGS AND GTIDS") {
			b.exec("RESET MASTER")
		}
	}
	// From the middle of such a value, a server may send events of 30 bytes.
	insert := func(length int) {
		b.exec(fmt.Sprintf("INSERT INTO t (v) VALUES (X'%s')", strings.Repeat("1E000000", length)+strings.Repeat("00", length%4)))
	}
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second + 10*time.Millisecond).Sub(now))
	reset()
	from := b.position()
	for range 3 {
		insert(20)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Second)
	defer cancel()
	reader, done := b.reader(watch), make(chan error, 1)
	read := func(from Position) { done <- reader.Run(ctx, from, func(Event) error { return nil }) }
	go read(from)
	for end := b.position(); reader.Position() != end && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	reset()
	for range 5 {
		insert(100 + 17*try)
	}
	err := <-done
	for tries := 0; errors.Is(err, ErrConnection) && tries < 3; tries++ { // as capture does
		go read(reader.Position())
		err = <-done
	}
	return err
}
