package plan

import (
	"fmt"
	"strings"
)

// CodeBinlogReader is a warning: programs read the binlog, and see the change happen there.
const CodeBinlogReader Code = "binlog-reader"

// checkReaders names the programs that read the binlog and are no replicas: the copy's writes and the swap are events that they see.
// The names by which Flink CDC knows a shadow are those of gh-ost (https://github.com/apache/flink-cdc/issues/3668). Debezium and
// others follow the tables that they are given.
func (c *checker) checkReaders() {
	if len(c.facts.BinlogReaders) == 0 {
		return
	}
	table := c.table.Name.Table
	fix := "Name each with its position, and the swap waits until it is near: --binlog-reader NAME=URL (docs/readers.md)"
	if c.facts.Version.renamesUnderLock() {
		fix += fmt.Sprintf("; Flink CDC and others know a copy by gh-ost's names: --shadow-name=_%s_gho --old-name=_%[1]s_del", table)
	}
	c.warn(
		CodeBinlogReader,
		fmt.Sprintf("programs read the binlog, and are no replicas: %s", strings.Join(c.facts.BinlogReaders, ", ")),
		fmt.Sprintf("they get the copy's writes to %s, and from the swap on rows of %s with the new columns; "+
			"one that is behind reads old rows with the new definition if it asks the server for it",
			c.names.Shadow.Table, table),
		fix,
	)
}
