package migration_test

import (
	"math/rand/v2"

	"midstream/internal/mysql/dbconn"
)

// writers have that many connections write what query gives, until stop. With minimal, the second one has row images of MINIMAL. seed is
// that of their numbers.
func (b *bench) writers(count int, minimal bool, seed uint64, query func(random *rand.Rand) string) (stop func()) {
	b.Helper()
	var stops []func()
	for n := range count {
		conn := b.conn()
		if n == 1 && minimal {
			if _, err := conn.ExecContext(b.ctx(), "SET SESSION binlog_row_image = 'MINIMAL'"); err != nil {
				b.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(uint64(n), seed))
		end, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-end:
					return
				default:
				}
				text := query(random)
				if _, err := conn.ExecContext(b.ctx(), text); err != nil && !dbconn.Contended(err) {
					b.Errorf("%s: %v", text, err)
					return
				}
				rest(0)
			}
		}()
		stops = append(stops, func() { close(end); <-done })
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}
