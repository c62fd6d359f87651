package facts

import (
	"context"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// These functions return statements that were renamed.
func statusStatement(v plan.Version) string {
	if !v.MariaDB && v.AtLeast(8, 2, 0) {
		return "SHOW BINARY LOG STATUS"
	}
	return "SHOW MASTER STATUS"
}

func replicasStatement(v plan.Version) string {
	if !v.MariaDB && v.AtLeast(8, 0, 22) {
		return "SHOW REPLICAS"
	}
	return "SHOW SLAVE HOSTS"
}

func replicaStatusStatement(v plan.Version) string {
	switch {
	case v.MariaDB:
		return "SHOW ALL SLAVES STATUS"
	case v.AtLeast(8, 0, 22):
		return "SHOW REPLICA STATUS"
	}
	return "SHOW SLAVE STATUS"
}

// readFilters reads binlog_do_db and binlog_ignore_db. They are no variables.
func (f gatherer) readFilters(ctx context.Context, q schema.Querier) error {
	rows, err := rowsOf(ctx, q, statusStatement(f.Version))
	if ok, err := seen(err); !ok {
		return err
	}
	if len(rows) == 1 && len(rows[0]) >= 4 {
		f.BinlogDoDB = databases(rows[0][2])
		f.BinlogSkipDB = databases(rows[0][3])
	}
	return nil
}

func databases(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// readReplicas reads the servers that replicate from here, and whether this server replicates.
func (f gatherer) readReplicas(ctx context.Context, q schema.Querier) error {
	rows, err := rowsOf(ctx, q, replicasStatement(f.Version))
	ok, err := seen(err)
	if err != nil {
		return err
	}
	f.ReplicasUnknown = !ok
	for _, r := range rows {
		if len(r) >= 3 { // server id, host, port
			f.Replicas = append(f.Replicas, r[1]+":"+r[2])
		}
	}
	from, err := channels(ctx, q, f.Version)
	if err != nil {
		if _, err := seen(err); err != nil {
			return err
		}
	}
	f.IsReplica = len(from) > 0
	f.Replicating = f.IsReplica && !slices.ContainsFunc(from, func(c channel) bool { return !c.Running })
	f.Following = slices.ContainsFunc(from, func(c channel) bool { return c.Started })
	if err := f.readGroup(ctx, q); err != nil {
		return err
	}
	if rows, err = rowsOf(ctx, q, "SHOW PROCESSLIST"); err != nil {
		return err
	}
	var dumps []dump
	for _, r := range rows {
		if d, is := dumpOf(r); is {
			dumps, f.Dumps = append(dumps, d), append(f.Dumps, d.account)
		}
	}
	return f.readReaders(ctx, q, dumps)
}

// Replicates reports whether this server receives another one's commits, apart from commits that
// members of a group receive from each other. It also reports whether it has received more than it
// has applied.
func Replicates(ctx context.Context, q schema.Querier) (following, unapplied bool, err error) {
	version, err := ReadVersion(ctx, q)
	if err != nil {
		return false, false, err
	}
	if !version.MariaDB {
		err = q.QueryRowContext(ctx, "SELECT COALESCE(MAX(service_state <> 'OFF' AND channel_name NOT LIKE 'group\\_replication\\_%'), 0),"+
			" COALESCE(MAX(GTID_SUBTRACT(received_transaction_set, @@GLOBAL.gtid_executed) <> ''), 0)"+
			" FROM performance_schema.replication_connection_status").Scan(&following, &unapplied)
		return following, unapplied, err
	}
	from, err := channels(ctx, q, version)
	for _, c := range from {
		following, unapplied = following || c.receives, unapplied || c.unapplied
	}
	return following, unapplied, err
}

// readGroup asks a member of Group Replication for the primary.
func (f gatherer) readGroup(ctx context.Context, q schema.Querier) error {
	if !f.Group || f.Version.MariaDB || !f.Version.AtLeast(8, 0, 0) {
		return nil
	}
	primary, err := firstColumn(ctx, q, "SELECT CONCAT(member_host, ':', member_port) FROM performance_schema.replication_group_members"+
		" WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE'")
	if ok, err := seen(err); !ok {
		return err
	}
	if len(primary) == 1 {
		f.GroupPrimary = primary[0]
	}
	return nil
}

// readInstrument looks whether metadata locks can be seen.
func (f gatherer) readInstrument(ctx context.Context, q schema.Querier) error {
	if !f.PerformanceSchema {
		return nil
	}
	enabled, err := firstColumn(ctx, q, `SELECT enabled FROM performance_schema.setup_instruments
		WHERE name = 'wait/lock/metadata/sql/mdl'`)
	if ok, err := seen(err); !ok {
		f.InstrumentUnknown = true
		return err
	}
	f.MDLInstrument = len(enabled) == 1 && enabled[0] == "YES"
	return nil
}

// readReferencing asks InnoDB itself; that needs PROCESS. Only MySQL 8.0 and later return the exact
// spelling of names.
func (f gatherer) readReferencing(ctx context.Context, q schema.Querier, source schema.Name) error {
	if f.Version.MariaDB || !f.Version.AtLeast(8, 0, 0) {
		return nil
	}
	rows, err := q.QueryContext(ctx, `SELECT id, for_name FROM information_schema.innodb_foreign WHERE ref_name = ?`,
		source.Schema+"/"+source.Table)
	if ok, err := seen(err); !ok {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, child string
		if err := rows.Scan(&id, &child); err != nil {
			return err
		}
		fk := schema.ForeignKey{Parent: source}
		_, fk.Constraint, _ = strings.Cut(id, "/")
		fk.Child.Schema, fk.Child.Table, _ = strings.Cut(child, "/")
		f.Referencing = append(f.Referencing, fk)
	}
	return rows.Err()
}

// readForeign reads the tables at the other ends of the table's foreign keys, if a swap takes these
// along.
func (f gatherer) readForeign(ctx context.Context, q schema.Querier, source schema.Name) error {
	if !f.Version.CarriesForeign() {
		return nil
	}
	all, err := schema.ForeignKeys(ctx, q, source)
	if err != nil {
		return err
	}
	var locked []schema.Name
	for _, fk := range all {
		locked = append(locked, fk.Child, fk.Parent)
	}
	for _, name := range locked {
		var there bool
		err := q.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
			name.Schema, name.Table).Scan(&there)
		if err != nil {
			return err
		}
		if !there && !slices.Contains(f.Foreign.Missing, name) {
			f.Foreign.Missing = append(f.Foreign.Missing, name)
		}
	}
	if f.Version.WritersApart() {
		return nil
	}
	return f.readLinked(ctx, q, source, locked)
}

// readLinked looks for the tables that the server locks with locked, because a change there changes
// their rows, and so on.
func (f gatherer) readLinked(ctx context.Context, q schema.Querier, source schema.Name, locked []schema.Name) error {
	for i := 0; i < len(locked); i++ {
		all, err := schema.ForeignKeys(ctx, q, locked[i])
		if err != nil {
			return err
		}
		for _, fk := range all {
			if fk.Parent == locked[i] && fk.Acts() && fk.Child != source && !slices.Contains(locked, fk.Child) {
				locked = append(locked, fk.Child)
				f.Foreign.Linked = append(f.Foreign.Linked, fk.Child)
			}
		}
	}
	return nil
}

// readTaken looks for tables that have the names of artefacts.
func (f gatherer) readTaken(ctx context.Context, q schema.Querier, source schema.Name, wished []string) error {
	var list []string
	for _, name := range wished {
		list = append(list, schema.Literal(name))
	}
	for _, purpose := range plan.Purposes {
		names := purpose.NamesOf(source)
		list = append(list, schema.Literal(names.Shadow.Table), schema.Literal(names.State.Table))
	}
	for _, n := range []schema.Name{plan.LogOf(source), plan.UndoOf(source), plan.KeptOf(source), plan.RowsOf(source)} {
		list = append(list, schema.Literal(n.Table))
	}
	for _, old := range append(plan.OldNames(source), plan.SinceNames(source)...) {
		list = append(list, schema.Literal(old.Table))
	}
	rows, err := q.QueryContext(ctx, `
		SELECT table_schema, table_name, IFNULL(table_comment, '') FROM information_schema.tables
		 WHERE table_schema = ? AND table_name IN (`+strings.Join(list, ", ")+`)
		 ORDER BY table_name`, source.Schema)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var t plan.Taken
		if err := rows.Scan(&t.Name.Schema, &t.Name.Table, &t.Comment); err != nil {
			return err
		}
		f.Taken = append(f.Taken, t)
	}
	return rows.Err()
}
