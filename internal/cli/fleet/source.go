package fleet

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/selector"
)

// sourceFlags say where the inventory is.
type sourceFlags struct{ folder, command string }

func (s *sourceFlags) register(f *flags.Set) {
	f.Flags.StringVar(&s.folder, "inventory", "", "folder with an option file for each server: NAME.cnf, with labels in its group [midstream] (docs/fleet.md)")
	f.Flags.StringVar(&s.command, "inventory-command", "", "instead of --inventory: command that prints the servers as JSON (docs/fleet.md)")
}

// given reports whether there is one.
func (s *sourceFlags) given() bool { return s.folder != "" || s.command != "" }

// source is what they name.
func (s *sourceFlags) source() inventory.Source {
	if s.command != "" {
		return inventory.Command(s.command)
	}
	return inventory.Folder(s.folder)
}

// check returns the error in the flags.
func (s *sourceFlags) check() error {
	switch {
	case !s.given():
		return errors.New("name the folder of the servers' option files: --inventory /etc/midstream/servers; or a command that prints them: --inventory-command")
	case s.folder != "" && s.command != "":
		return errors.New("use either --inventory or --inventory-command, not both")
	}
	return nil
}

// read reads the inventory.
func (s *sourceFlags) read(ctx context.Context) (inventory.Inventory, error) {
	read, err := inventory.Read(ctx, s.source())
	if err != nil {
		return read, &exit.Error{Code: exit.WrongUsage, Err: err, Left: "midstream did not connect to a server", Next: "correct the inventory (docs/fleet.md)"}
	}
	return read, nil
}

// chosen are the servers that a selector takes.
func chosen(i inventory.Inventory, s selector.Selector) ([]inventory.Server, error) {
	servers := i.Chosen(s.Matches)
	if len(servers) == 0 && len(i.Problems) == 0 {
		return nil, &exit.Error{Code: exit.WrongUsage, Err: fmt.Errorf("the selector %s takes none of %d servers", s, len(i.Servers)),
			Left: "midstream did not connect to a server", Next: "check the labels in the option files"}
	}
	return servers, nil
}
