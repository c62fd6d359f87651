package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// variants are midstream without some of its rules, to show what these are worth (law L4, and
// merging).
func variants() (names []string, arguments map[string][]string) {
	return []string{"midstream", "no-frontier-rule", "no-merge", "neither"}, map[string][]string{
		"midstream":        nil,
		"no-frontier-rule": {"--no-frontier-rule"},
		"no-merge":         {"--no-merge"},
		"neither":          {"--no-frontier-rule", "--no-merge"},
	}
}

// rules measures midstream without its rules, at full speed.
func (b *bench) rules(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	names, arguments := variants()
	for round := range b.rounds {
		for _, name := range rotate(names, round) {
			t := midstreamTool(b.midstream, append(b.unverified(), arguments[name]...), nil)
			r, err := b.measure(ctx, b.base, scene{tool: name, load: loadFull, round: round}, t)
			if err != nil {
				return fmt.Errorf("rules, %s: %w", name, err)
			}
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measureRules, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// verification measures what the comparison costs, on an idle server.
func (b *bench) verification(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		t := midstreamTool(b.midstream, b.midstreamArgs, nil)
		r, err := b.measure(ctx, b.base, scene{tool: toolMidstream, load: loadIdle, round: round}, t)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		f.Runs = append(f.Runs, r)
		if err := b.results.save(measureVerify, f); err != nil {
			return err
		}
	}
	return nil
}

// cost measures midstream on an idle server with the table of --rows and with one of --cost-base rows.
func (b *bench) cost(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	small := b.options
	small.rows = b.costBase
	other, err := prepare(ctx, b.build, b.programs.sysbench, filepath.Join(b.dir, "small"), small, b.say)
	if err != nil {
		return err
	}
	header, err := b.header(ctx, other)
	if err != nil {
		return err
	}
	f.Others = append(f.Others, header)
	for round := range b.rounds {
		for _, from := range rotate([]*base{other, b.base}, round) {
			t := midstreamTool(b.midstream, b.unverified(), nil)
			r, err := b.measure(ctx, from, scene{tool: toolMidstream, load: loadIdle, round: round}, t)
			if err != nil {
				return fmt.Errorf("cost, %d rows: %w", from.rows, err)
			}
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measureCost, f); err != nil {
				return err
			}
		}
	}
	return nil
}
