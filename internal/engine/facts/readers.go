package facts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// replicaPrograms are the program_name of a replica's receiver in its connection attributes (MySQL's sql/rpl_replica.cc, connect_to_master,
// and MariaDB's sql/slave.cc). Clients such as go-mysql send the replica's _client_role too, so the role shows nothing.
var replicaPrograms = []string{"mysqld", "mariadbd"}

// readReaders finds the sessions that read the binlog and are no replicas: change data capture, backups of binlogs. A replica of MySQL
// names itself in its connection attributes. Sessions without them are named if they are more than the registered replicas.
// REQUIRES: the replicas and the dumps were read.
func (f gatherer) readReaders(ctx context.Context, q schema.Querier, dumps []dump) error {
	if len(dumps) == 0 {
		return nil
	}
	attributes := map[string]map[string]string{}
	rows, err := rowsOf(ctx, q, "SELECT processlist_id, attr_name, attr_value FROM performance_schema.session_connect_attrs"+
		" WHERE attr_name IN ('program_name', '_client_name')")
	if ok, err := seen(err); err != nil || !ok && len(dumps) <= len(f.Replicas) {
		return err
	}
	for _, r := range rows {
		if len(r) == 3 {
			if attributes[r[0]] == nil {
				attributes[r[0]] = map[string]string{}
			}
			attributes[r[0]][r[1]] = r[2]
		}
	}
	var unnamed []string
	registered := len(f.Replicas)
	for _, d := range dumps {
		switch of := attributes[d.id]; {
		case of["program_name"] == dbconn.ProgramName:
		case slices.Contains(replicaPrograms, of["program_name"]):
			registered--
		case of != nil:
			f.BinlogReaders = append(f.BinlogReaders, d.account+" ("+cmp.Or(of["program_name"], of["_client_name"])+")")
		default:
			unnamed = append(unnamed, d.account)
		}
	}
	if len(unnamed) > registered {
		f.BinlogReaders = append(f.BinlogReaders, unnamed...)
	}
	return nil
}

// dump is a session that reads the binlog.
type dump struct{ id, account string }

// dumpOf reads a row of SHOW PROCESSLIST: id, user, host with its port, database, command.
func dumpOf(row []string) (d dump, is bool) {
	if len(row) < 5 || !strings.HasPrefix(row[4], "Binlog Dump") {
		return dump{}, false
	}
	host, _, _ := strings.Cut(row[2], ":")
	return dump{id: row[0], account: row[1] + "@" + host}, true
}
