package cli

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"midstream/internal/engine/plan"
)

// registerCapture adds the flags that say where changes are read, and from which kind of server.
func (c *change) registerCapture() {
	c.checks.enum(
		"capture",
		"auto",
		[]string{"auto", string(plan.CaptureBinlog), string(plan.CaptureTrigger)},
		"how changes are learnt of while rows are copied: from the binlog or, where that can't be used, by triggers that write the keys of rows into a table",
		func(word string) {
			if word != "auto" {
				c.options.Capture = plan.Capture(word)
			}
		},
	)
	c.checks.add(
		"",
		"capture-from",
		"host[:port]",
		"",
		"replica from which changes are read, to spare the server; the account is the same. It must replicate from the server itself, log what it replicates, and keep the order",
		func(text string) error {
			if strings.Contains(text, ",") {
				return errors.New("it is one replica")
			}
			host, port, err := net.SplitHostPort(text)
			if err != nil && !strings.Contains(text, ":") {
				host, port, err = text, "3306", nil
			}
			if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
				return errors.New("it is host, or host:port")
			}
			c.connection.captureFrom = net.JoinHostPort(host, port)
			return nil
		},
	)
	c.checks.boolean(
		&c.options.Replicates, "", "source-replicates",
		"the server is meant although it replicates from another one: a ring of primaries, a server that gets other tables from elsewhere",
	)
}
