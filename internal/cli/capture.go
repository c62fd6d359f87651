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
	c.checks.Enum(
		"capture",
		"auto",
		[]string{"auto", string(plan.CaptureBinlog), string(plan.CaptureTrigger)},
		"how the run captures changes during the row copy: from the binlog, or by triggers that write the keys of changed rows into a table; auto uses triggers if it cannot use the binlog",
		func(word string) {
			if word != "auto" {
				c.options.Capture = plan.Capture(word)
			}
		},
	)
	c.checks.Add(
		"",
		"capture-from",
		"host[:port]",
		"",
		"read changes from this replica instead of the server, with the same account. The replica must replicate directly from the server, write a binlog of what it replicates, and keep the order of transactions",
		func(text string) error {
			if strings.Contains(text, ",") {
				return errors.New("must be one replica")
			}
			host, port, err := net.SplitHostPort(text)
			if err != nil && !strings.Contains(text, ":") {
				host, port, err = text, "3306", nil
			}
			if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
				return errors.New("must be host or host:port")
			}
			c.connection.captureFrom = net.JoinHostPort(host, port)
			return nil
		},
	)
	c.checks.Bool(
		&c.options.Replicates, "", "source-replicates",
		"change the table on this server although the server is a replica, such as one of a ring of primaries, or a server that replicates other tables",
	)
}
