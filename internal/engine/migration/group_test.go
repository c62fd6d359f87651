package migration_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// group is a single-primary group of three servers, set up as the manual describes: engines without
// transactions are disabled.
func group(t *testing.T) []*mysqltest.Instance {
	t.Helper()
	var seeds []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, l.Addr().String())
		l.Close()
	}
	var options []sandbox.Options
	for i, address := range seeds {
		options = append(options, sandbox.Options{Settings: map[string]string{
			"server_id": fmt.Sprint(21 + i), "gtid_mode": "ON", "enforce_gtid_consistency": "ON", "report_host": "127.0.0.1",
			"disabled_storage_engines": "MyISAM,BLACKHOLE,FEDERATED,ARCHIVE,MEMORY",
			"plugin_load_add":          "group_replication.so", "loose_group_replication_start_on_boot": "OFF",
			"loose_group_replication_group_name":    "6f0d4c1e-2b7a-4a58-9d39-0c6a2f1b7e55",
			"loose_group_replication_local_address": address, "loose_group_replication_group_seeds": strings.Join(seeds, ","),
			"loose_group_replication_recovery_get_public_key": "ON",
		}})
	}
	servers := mysqltest.OwnAll(t, "9.7", options...)
	join := func(s *mysqltest.Instance, before ...string) error {
		db := s.Open(t, "")
		db.SetMaxOpenConns(1)
		for _, statement := range append(before, fmt.Sprintf("START GROUP_REPLICATION USER='%s', PASSWORD='%s'", s.User, s.Password)) {
			if _, err := db.Exec(statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}
	if err := join(servers[0], "SET GLOBAL group_replication_bootstrap_group = ON"); err != nil {
		t.Fatal(err)
	}
	var joining sync.WaitGroup
	for _, s := range servers[1:] {
		joining.Go(func() {
			if err := join(s); err != nil {
				t.Error(err)
			}
		})
	}
	joining.Wait()
	first := servers[0].Open(t, "")
	if _, err := first.Exec("SET GLOBAL group_replication_bootstrap_group = OFF"); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var online int
		if err := first.QueryRow(
			"SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'",
		).Scan(
			&online,
		); err != nil {
			t.Fatal(err)
		}
		if online == len(servers) {
			return servers
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d members are online", online)
		}
	}
}

// lead makes the server the primary of its group.
func (b *bench) lead() {
	b.Helper()
	b.value("SELECT group_replication_set_as_primary(@@server_uuid)")
}

// TestL5_GroupReplication: the primary of a group changes in the middle of a run. The run ends at
// once with its work kept, is refused on the former primary, and resumes at the new one.
func TestL5_GroupReplication(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	servers := group(t)
	b := on(t, "9.7", servers[0])
	other := &bench{
		T:       t,
		version: "9.7",
		server:  servers[1],
		address: servers[1].Address,
		db:      servers[1].Open(t, ""),
		schema:  b.schema,
		told:    newTold(),
	}
	b.numbered(9999)
	stop, stopOther := b.writer(b.db), other.writer(other.db) // only the primary accepts writes
	defer stop()
	defer stopOther()

	const narrower = "ADD COLUMN added INT, MODIFY v SMALLINT NOT NULL" // this ALTER needs a prescan
	var changed time.Time
	b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers, b.cfg.Checkpoint = 20, 1, 50*time.Millisecond
	began := make(chan struct{})
	r := b.background(b.ctx(), narrower, onPhase(event.PhaseCopy, func() { close(began) }))
	<-began
	time.Sleep(500 * time.Millisecond)
	other.lead()
	changed = time.Now()
	<-r.done
	var failed *failure.Failure
	if !errors.As(r.err, &failed) || !failed.Kept || !failed.Lost || !strings.Contains(r.err.Error(), "connect to that one") {
		b.Fatalf("the error is %v", r.err)
	}
	if r.result.Scanned == 0 {
		b.Error("nothing was prescanned")
	}
	if took := time.Since(changed); took > 2*time.Second {
		b.Errorf("it ended %s after the change", took)
	}
	b.Log(r.err)
	if _, err := b.migrate(b.ctx(), narrower); !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), other.address) {
		b.Errorf("the error is %v", err)
	}
	other.exec("SET GLOBAL group_replication_transaction_size_limit = 20000") // a transaction with too many rows
	result, err := other.migrate(other.ctx(), narrower, onPhase(event.PhaseCutover, func() { stop(); stopOther() }))
	if err != nil {
		b.Fatal(err)
	}
	if !result.Resumed || result.RowsCopied == 0 {
		b.Errorf("it did not resume: %+v", result)
	}
	b.lead()
	b.equal()
	b.hasTables("digits,t,t_old")
}
