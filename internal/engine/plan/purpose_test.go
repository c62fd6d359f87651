package plan

import (
	"errors"
	"slices"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestPurpose: the requirements that a rehearsal has for a server.
func TestPurpose(t *testing.T) {
	replica := func(change func(f *Facts)) func(*Facts) {
		return func(f *Facts) {
			f.IsReplica, f.Replicating = true, true
			if change != nil {
				change(f)
			}
		}
	}
	taken := func(name, comment string) func(f *Facts) {
		return func(f *Facts) {
			f.Taken = append(f.Taken, Taken{schema.Name{Schema: "shop", Table: name}, comment})
		}
	}
	for _, c := range []struct {
		name     string
		purpose  Purpose
		change   func(f *Facts)
		blocking []string
	}{
		{"rehearsal", Rehearsing, nil, nil},
		{"rehearsal on a read-only server", Rehearsing, func(f *Facts) { f.ReadOnly = true }, []string{"read-only"}},
		{"rehearsal, as if on a primary", Rehearsing, replica(nil), []string{"replica"}},
		{"run on a replica", Altering, replica(nil), nil},
		{"no replica", RehearsingOnReplica, nil, []string{"replica"}},
		{"replica", RehearsingOnReplica, replica(nil), nil},
		{"replica that stands still", RehearsingOnReplica, replica(func(f *Facts) { f.Replicating = false }), []string{"replica"}},
		{"silent replica", RehearsingOnReplica, replica(func(f *Facts) { f.LogReplicaUpdates = false }), []string{"replica"}},
		{"read-only replica", RehearsingOnReplica, replica(func(f *Facts) { f.ReadOnly = true }), nil},
		{"super-read-only replica", RehearsingOnReplica, replica(func(f *Facts) { f.ReadOnly, f.SuperReadOnly = true, true }), []string{"read-only"}},
		{"old replica", RehearsingOnReplica, replica(func(f *Facts) { f.Version = Version{Major: 5, Minor: 7, Text: "5.7.40"} }), []string{"version"}},
		{"an account that may not be silent", RehearsingOnReplica, replica(func(f *Facts) {
			f.ReadOnly = true
			f.Grants = grantsOf("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES, PROCESS, " +
				"REPLICATION SLAVE, REPLICATION CLIENT, XA_RECOVER_ADMIN ON *.* TO `app`@`%`")
		}), []string{"grants"}},
		{"an account that may", RehearsingOnReplica, replica(func(f *Facts) {
			f.ReadOnly = true
			f.Grants = grantsOf("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES, PROCESS, "+
				"REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `app`@`%`", "GRANT XA_RECOVER_ADMIN, SESSION_VARIABLES_ADMIN, CONNECTION_ADMIN ON *.* TO `app`@`%`")
		}), nil},
		{"the tables of a run on the primary", RehearsingOnReplica, replica(taken("orders_shadow", "midstream shadow of shop.orders")), nil},
		{"a stranger's table", RehearsingOnReplica, replica(taken("orders_rehearsed", "")), []string{"name-taken"}},
		{"the tables of a rehearsal, to a run", Altering, replica(taken("orders_rehearsed", "midstream shadow of shop.orders")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := good()
			if c.change != nil {
				c.change(facts)
			}
			p, err := Make(facts, orders(usual, "PRIMARY: id"), alter(t, "ADD d INT"), Options{Purpose: c.purpose})
			var refused *Refused
			if errors.As(err, &refused); refused == nil {
				refused = &Refused{}
			}
			if got := codes(refused.Blocking); !slices.Equal(got, c.blocking) {
				t.Errorf("blocking %v, want %v: %v", got, c.blocking, err)
			}
			if p != nil && p.Purpose != c.purpose {
				t.Errorf("the plan is for %q", p.Purpose)
			}
		})
	}
}

// TestRefusedRehearsalAsksNothing: asking the server how it would carry out an ALTER creates a
// table, so a refused rehearsal must not ask.
func TestRefusedRehearsalAsksNothing(t *testing.T) {
	table := orders(usual, "PRIMARY: id")
	for _, c := range []struct {
		purpose Purpose
		replica bool
		want    bool
	}{{Altering, false, true}, {Rehearsing, false, true}, {Rehearsing, true, false}, {RehearsingOnReplica, false,
		false}, {RehearsingOnReplica, true, true}} {
		facts, options := good(), Options{Purpose: c.purpose}
		facts.IsReplica, facts.Replicating = c.replica, c.replica
		_, err := Make(facts, table, alter(t, "ADD d INT"), options)
		if got := MayAsk(facts, table, alter(t, "ADD d INT"), options, err); got != c.want {
			t.Errorf("%q, on a replica: %t: it may ask: %t", c.purpose, c.replica, got)
		}
	}
}
