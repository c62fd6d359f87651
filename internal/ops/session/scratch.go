package session

import (
	"context"

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
		filed, err := dbconn.OptionFiles{Only: t.Scratch}.Read()
		if err != nil {
			return nil, "", err
		}
		cfg, _, err := filed.Options.Config()
		if err != nil {
			return nil, "", err
		}
		cfg.Globals = globals
		pool, err := dbconn.Open(ctx, cfg, nil)
		return pool, cfg.Address, err
	}
}
