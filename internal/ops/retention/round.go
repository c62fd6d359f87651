package retention

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/reach"
)

// memory is what the server shows of its buffer pool.
type memory struct {
	pool, page int64 // bytes
	hashed     bool
	reads      uint64 // pages
}

// round visits one server.
func (k *Keeper) round(ctx context.Context, server Server) error {
	pool, err := dbconn.Open(ctx, server.Config, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	found, err := leftovers.Asides(ctx, pool.DB())
	if err != nil {
		return err
	}
	m, err := readMemory(ctx, pool)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, a := range found {
		name := server.Name + " " + a.Name.Quoted() + " " + a.Made
		there[name] = true
		if k.check(server, name, a, m) && !k.needed(ctx, server, pool, name, a) {
			k.drop(ctx, server, pool, name, a)
		}
	}
	for name := range k.seen {
		if strings.HasPrefix(name, server.Name+" ") && !there[name] {
			delete(k.seen, name)
		}
	}
	return nil
}

func readMemory(ctx context.Context, pool *dbconn.Pool) (m memory, err error) {
	var variable string
	if err = pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_buffer_pool_size, @@GLOBAL.innodb_page_size, @@GLOBAL.innodb_adaptive_hash_index").
		Scan(&m.pool, &m.page, &m.hashed); err != nil {
		return m, fmt.Errorf("look at the buffer pool: %w", err)
	}
	if err = pool.DB().QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb\\_buffer\\_pool\\_reads'").Scan(&variable, &m.reads); err != nil {
		return m, fmt.Errorf("look at the buffer pool: %w", err)
	}
	return m, nil
}

// check takes one check of a table, and reports whether it is to be dropped.
func (k *Keeper) check(server Server, name string, a leftovers.Aside, m memory) bool {
	now := time.Now()
	s := k.seen[name]
	if s == nil {
		s = &sight{First: now, Checked: now, Accesses: a.Accesses, Reads: m.reads}
		k.seen[name] = s
		k.Note(fmt.Sprintf("server %s: %s is kept for %s", server.Name, a.Name, server.Keep))
		return false
	}
	s.Reads = min(s.Reads, m.reads) // the server began anew
	switch {
	case a.Accesses != s.Accesses:
		s.Checked, s.Accesses, s.Quiet = now, a.Accesses, 0
		k.once(name, fmt.Sprintf("server %s: %s is still used, and is kept", server.Name, a.Name))
		return false
	case now.Sub(s.Checked) >= k.Between:
		s.Checked, s.Quiet = now, s.Quiet+1
	}
	if now.Sub(s.First) < server.Keep || s.Quiet < enoughChecks {
		return false
	}
	bytes := a.Bytes / int64(max(1, len(a.Partitions)))
	stall := plan.Stall(bytes, m.pool, m.hashed)
	if evicted := int64(m.reads-s.Reads)*m.page > m.pool; stall > k.Stall && !evicted {
		k.once(name, reach.To(server.Config.Address).In(fmt.Sprintf(
			"server %s: %s is kept, because its drop may stall sessions for %s while its pages are in the buffer pool; at a quiet hour: midstream cleanup  --old %s",
			server.Name, a.Name, stall.Round(100*time.Millisecond), a.Source.Argument())))
		return false
	}
	return true
}

// needed reports whether an undo needs a table, and notes it.
func (k *Keeper) needed(ctx context.Context, server Server, pool *dbconn.Pool, name string, a leftovers.Aside) bool {
	needed, err := a.Needed(ctx, pool)
	switch {
	case err != nil:
		k.once(name, fmt.Sprintf("server %s: %s is kept: %v", server.Name, a.Name, err))
	case needed:
		k.once(name, fmt.Sprintf("server %s: %s is kept, because an undo needs it", server.Name, a.Name))
	}
	return needed || err != nil
}

// drop drops a table, and notes it.
func (k *Keeper) drop(ctx context.Context, server Server, pool *dbconn.Pool, name string, a leftovers.Aside) {
	err := leftovers.DropAside(ctx, pool, a)
	switch {
	case err == nil:
		delete(k.seen, name)
		k.Note(fmt.Sprintf("server %s: dropped %s; it was kept for %s, and no session used it", server.Name, a.Name, server.Keep))
	case errors.Is(err, leftovers.ErrInUse):
		k.seen[name].Quiet = 0
		fallthrough
	default:
		k.once(name, fmt.Sprintf("server %s: %s is kept: %v", server.Name, a.Name, err))
	}
}
