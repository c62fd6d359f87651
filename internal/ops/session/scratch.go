package session

import (
	"context"
	"fmt"

	"midstream/internal/mysql/dbconn"
)

// ScratchUse is what --scratch-defaults-file is for.
const ScratchUse = "option file of another server of the same version: ask there what needs a table, and write nothing to the server of the table"

// ReachScratch returns how a plan reaches its scratch server; nil for none. Only the option file counts: the flags and the environment are
// of the server of the table.
func (t *Target) ReachScratch() func(context.Context, map[string]string) (*dbconn.Pool, string, error) {
	if t.Scratch == "" {
		return nil
	}
	return func(ctx context.Context, globals map[string]string) (*dbconn.Pool, string, error) {
		cfg, err := t.scratchConfig()
		if err != nil {
			return nil, "", err
		}
		cfg.Globals = globals
		pool, err := dbconn.Open(ctx, cfg, nil)
		return pool, cfg.Address, err
	}
}

// scratchConfig reads the option file of the scratch server.
func (t *Target) scratchConfig() (cfg dbconn.Config, err error) {
	filed, err := dbconn.OptionFiles{Only: t.Scratch}.Read()
	if err == nil {
		cfg, _, err = filed.Options.Config()
	}
	if err != nil {
		err = fmt.Errorf("--scratch-defaults-file: %w", err)
	}
	return cfg, err
}
