package dbconn

import (
	"context"
	"strconv"
	"strings"
)

// builds are the session settings that give an index build memory to sort in, and threads. Servers
// have them from MySQL 8.0.27 on (the last one from 8.0.14 on). The default of 1 MB, shared by all
// threads, spills at once.
var builds = []struct{ variable, statement string }{
	{"innodb_ddl_buffer_size", "SET SESSION innodb_ddl_buffer_size = 67108864"},
	{"innodb_ddl_threads", "SET SESSION innodb_ddl_threads = %d"},
	{"innodb_parallel_read_threads", "SET SESSION innodb_parallel_read_threads = %d"},
}

// BuildThreads is the number of threads that build an index on a server that nobody else uses.
const BuildThreads = 4

// BuildSetup returns the first statements of a session that will build indexes with so many threads. If
// a server doesn't show its settings, there are none.
func (p *Pool) BuildSetup(ctx context.Context, threads int) []string {
	var setup []string
	for _, b := range builds {
		var there int
		err := p.DB().QueryRowContext(ctx,
			"SELECT COUNT(*) FROM performance_schema.session_variables WHERE variable_name = ?", b.variable).Scan(&there)
		if err == nil && there > 0 {
			setup = append(setup, strings.ReplaceAll(b.statement, "%d", strconv.Itoa(threads)))
		}
	}
	return setup
}
