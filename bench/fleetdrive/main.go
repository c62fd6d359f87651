// Command fleetdrive measures the core and the driver of change sets with simulated members: the time to plan and to drive them, and the
// peak of the memory.
//
//	go run ./bench/fleetdrive -members 2000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
	"midstream/internal/lab/fleetlab"
)

func main() {
	members := flag.Int("members", 2000, "number of simulated members")
	takes := flag.Duration("plan", 100*time.Millisecond, "time that the plan of one member takes")
	flag.Parse()
	if err := measure(context.Background(), *members, *takes); err != nil {
		fmt.Fprintln(os.Stderr, "fleetdrive:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, members int, takes time.Duration) error {
	servers := fleetlab.Servers(members)
	began := time.Now()
	var asked []inventory.Server
	for name, labels := range servers {
		asked = append(asked, inventory.Server{Name: name, Labels: labels})
	}
	plan := func(context.Context, inventory.Server) fleetplan.Answer {
		time.Sleep(takes)
		return fleetplan.Answer{Outcome: fleetplan.Fits, Method: "instant"}
	}
	answers := fleetplan.Ask(ctx, asked, fleetplan.Limits{Parallel: 32, PerHost: 4}, plan, nil)
	fmt.Printf("planned %d members in %s (%s each, 32 at a time)\n", len(answers), time.Since(began).Round(time.Millisecond), takes)

	every, err := selector.Parse("*")
	if err != nil {
		return err
	}
	f, err := fleetlab.New(rollout.Set{
		ID: "orders-note", Statement: "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)", Selector: every, Undo: 24 * time.Hour,
		Waves:  []rollout.Wave{{Name: "canary", Share: 100, Soak: 30 * time.Minute}, {Name: "a tenth", Share: 1000, Soak: 2 * time.Hour}, {Name: "rest"}},
		Limits: rollout.Limits{All: 100, PerHost: 1, PerCell: 20},
	}, servers)
	if err != nil {
		return err
	}
	f.Stored = true
	began = time.Now()
	steps, err := f.Until(ctx, func(s rollout.State) bool { return s.Phase.Ended() })
	if err != nil {
		return err
	}
	s := f.State()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	fmt.Printf("drove %d members in %s: %d steps, %s each; the set is %s, with %d swaps; its state has %d KB\n", len(s.Members),
		time.Since(began).Round(time.Millisecond), steps, (time.Since(began) / time.Duration(steps)).Round(time.Microsecond),
		s.Phase, s.Swaps, len(text)>>10)
	began = time.Now()
	f.Ask(rollout.Request{Ask: rollout.AskUndo, By: "bert"})
	if _, err := f.Step(ctx, time.Second); err != nil {
		return err
	}
	steps, err = f.Until(ctx, func(s rollout.State) bool { return s.Phase == rollout.PhaseUndone })
	if err != nil {
		return err
	}
	fmt.Printf("took back in %s: %d steps; the set is %s\n", time.Since(began).Round(time.Millisecond), steps, f.State().Phase)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	fmt.Printf("peak of the memory: %d MB; processor time: %s\n", usage.Maxrss>>10,
		(time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Round(time.Millisecond))
	return nil
}
