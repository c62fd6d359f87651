package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound means that the table does not exist, or that the account may not see it.
var ErrNotFound = errors.New("no such table, or no privilege on it")

// ErrNotBaseTable means that the name is a view's, a temporary table's or something else that can't
// be migrated.
var ErrNotBaseTable = errors.New("not a base table")

// OtherKind is an ErrNotBaseTable that names the kind of object.
type OtherKind struct {
	// Kind is spelt as in information_schema.tables: VIEW, SEQUENCE, SYSTEM VERSIONED, ...
	Kind string
}

// Error names the kind.
func (o *OtherKind) Error() string { return "not a base table but a " + strings.ToLower(o.Kind) }

// Is reports whether target is ErrNotBaseTable.
func (o *OtherKind) Is(target error) bool { return target == ErrNotBaseTable }

// Advice is what whoever wants to change it can do.
func (o *OtherKind) Advice() string {
	switch o.Kind {
	case "VIEW":
		return "name the table that it shows; CREATE OR REPLACE VIEW changes the view itself"
	case "SEQUENCE":
		return "ALTER SEQUENCE changes it at once"
	// MariaDB's: statements can't write deleted and former rows.
	case "SYSTEM VERSIONED":
		return "a copy would have none of its rows' history: let the server change it (SET SESSION system_versioning_alter_history = KEEP; ALTER TABLE ...), on a replica first if that takes long"
	}
	return ""
}

// Querier is the part of *sql.DB, *sql.Conn and *sql.Tx that Load needs.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Load reads everything that the engine needs to know about a table. It only reads, and leaves the
// session's variables unchanged.
//
// Load takes the name as the server compares names; the Table has the server's own spelling. Sizes
// are the server's estimates of this moment.
//
// Triggers are seen only with the TRIGGER privilege on the table. Foreign keys of tables in other
// schemas are seen only with a privilege there or with PROCESS.
func Load(ctx context.Context, q Querier, name Name) (*Table, error) {
	return read(ctx, q, name, ForeignKeys)
}

// LoadOwn is Load for a table to which no other refers, such as a shadow or a clone. It looks for no such foreign
// keys: servers before MySQL 8.0, and MariaDB, open every table of every schema to find them.
func LoadOwn(ctx context.Context, q Querier, name Name) (*Table, error) {
	return read(ctx, q, name, OwnForeignKeys)
}

// reading reads foreign keys of a table.
type reading func(context.Context, Querier, Name) ([]ForeignKey, error)

func read(ctx context.Context, q Querier, name Name, foreign reading) (*Table, error) {
	t, err := load(ctx, q, name, foreign)
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", name, err)
	}
	return t, nil
}

func load(ctx context.Context, q Querier, name Name, foreign reading) (*Table, error) {
	q, done, err := pin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer done()
	restore, err := settle(ctx, q)
	if err != nil {
		return nil, err
	}
	defer restore()

	for attempt := 1; ; attempt++ {
		t := &Table{Name: name}
		err := t.loadParts(ctx, q, foreign)
		// A session may have altered the table between two of the reads.
		if torn := errors.Is(err, errCreate) || errors.As(err, &fewer{}); !torn || attempt == mostReads {
			return t, err
		}
	}
}

// fewer is the error if a server does not show all columns of a table.
type fewer struct{ shown, all int }

func (f fewer) Error() string {
	return fmt.Sprintf("the server shows %d of its %d columns to this account", f.shown, f.all)
}

// mostReads is how often a table is read whose parts do not fit each other.
const mostReads = 5

func (t *Table) loadParts(ctx context.Context, q Querier, foreign reading) error {
	if err := t.loadTable(ctx, q); err != nil {
		return err
	}
	create, err := t.loadCreate(ctx, q)
	if err != nil {
		return err
	}
	if err := t.loadColumns(ctx, q, create); err != nil {
		return err
	}
	if err := t.loadKeys(ctx, q, create); err != nil {
		return err
	}
	if err := t.loadForeignKeys(ctx, q, foreign); err != nil {
		return err
	}
	t.Triggers, err = triggers(ctx, q, t.Name)
	return err
}

// pin takes one connection of a pool, because session variables belong to a connection.
func pin(ctx context.Context, q Querier) (Querier, func(), error) {
	pool, ok := q.(interface {
		Conn(context.Context) (*sql.Conn, error)
	})
	if !ok {
		return q, func() {}, nil
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() { conn.Close() }, nil
}

// wanted are the session variables that change how the server shows a table. Load does not set
// variables that a server doesn't have.
var wanted = map[string]string{
	"information_schema_stats_expiry":                  "0", // sizes of now, not of yesterday
	"show_gipk_in_create_table_and_information_schema": "ON",
	"sql_quote_show_create":                            "ON",
	"show_create_table_verbosity":                      "OFF",
	"show_create_table_skip_secondary_engine":          "OFF",
	"time_zone": "+00:00", // the zone of a TIMESTAMP's default
	"sql_mode":  "",       // ANSI_QUOTES etc. change SHOW CREATE
}

// padChar is the sql_mode that shows the default of a CHAR in its full length.
const padChar = "PAD_CHAR_TO_FULL_LENGTH"

// showsPlainly reports whether a sql_mode changes nothing in SHOW CREATE TABLE's output, apart from
// padChar. Then it stays unchanged. MariaDB decides the types of a generated column's expression
// when a session opens the table, and other sessions get the open table (10.11.18).
func showsPlainly(name, value string) bool {
	return strings.EqualFold(name, "sql_mode") && !strings.Contains(value, "ANSI") && !strings.Contains(value, "_OPTIONS") &&
		!strings.Contains(value, "ORACLE") && !strings.Contains(value, "MAXDB")
}

// settle sets the wanted variables and returns what sets them back.
func settle(ctx context.Context, q Querier) (restore func(), err error) {
	return settleWith(ctx, q, false)
}

// results is the variable with the charset of results.
const results = "character_set_results"

// settleWith is settle that also has results come in the charset in which the server has them, if raw is set.
func settleWith(ctx context.Context, q Querier, raw bool) (restore func(), err error) {
	names := []string{"'" + results + "'"}
	for name := range wanted {
		names = append(names, "'"+name+"'")
	}
	var changed, old []string
	rows, err := q.QueryContext(ctx,
		"SHOW SESSION VARIABLES WHERE Variable_name IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if strings.EqualFold(name, results) {
			if raw && value != "" { // "" is NULL
				changed, old = append(changed, name+" = NULL"), append(old, name+" = "+value)
			}
			continue
		}
		want := wanted[strings.ToLower(name)]
		if unpadded := strings.Replace(value, padChar, "", 1); showsPlainly(name, value) {
			want = unpadded
		}
		if want != value {
			changed = append(changed, name+" = "+setting(want))
			old = append(old, name+" = "+setting(value))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return func() {}, nil
	}
	if err := exec(ctx, q, "SET SESSION "+strings.Join(changed, ", ")); err != nil {
		return nil, err
	}
	return func() {
		// The session may belong to the caller: set the variables back even if the context has
		// ended. An error means that the connection is lost, and its variables with it.
		_ = exec(context.WithoutCancel(ctx), q, "SET SESSION "+strings.Join(old, ", "))
	}, nil
}

// setting writes a variable's value for SET: numbers bare, the rest quoted.
func setting(value string) string {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return value
	}
	return "'" + value + "'"
}

func exec(ctx context.Context, q Querier, statement string) error {
	rows, err := q.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	return rows.Err()
}

// loadTable reads the table's own row and takes over the server's spelling.
func (t *Table) loadTable(ctx context.Context, q Querier) error {
	rows, err := q.QueryContext(ctx, `
		SELECT table_schema, table_name, table_type, IFNULL(engine, ''), IFNULL(table_collation, ''),
		       IFNULL(table_comment, ''), IFNULL(create_options, ''),
		       IFNULL(table_rows, 0), IFNULL(data_length, 0), IFNULL(index_length, 0)
		  FROM information_schema.tables
		 WHERE table_schema = ? AND table_name = ?`, t.Name.Schema, t.Name.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := false
	for rows.Next() && !found {
		var kind, options string
		var r Table
		if err := rows.Scan(&r.Name.Schema, &r.Name.Table, &kind, &r.Engine, &r.Collation,
			&r.Comment, &options, &r.Rows, &r.DataBytes, &r.IndexBytes); err != nil {
			return err
		}
		if kind != "BASE TABLE" {
			return &OtherKind{Kind: kind}
		}
		r.Partitioned = strings.Contains(strings.ToLower(options), "partitioned")
		*t, found = r, true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	return nil
}

// loadCreate reads SHOW CREATE TABLE and takes it apart.
func (t *Table) loadCreate(ctx context.Context, q Querier) (*createTable, error) {
	var name string
	err := q.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.Name.Quoted()).Scan(&name, &t.Create)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(t.Create, "CREATE TEMPORARY") {
		return nil, fmt.Errorf("%w: this session has a temporary table of the same name", ErrNotBaseTable)
	}
	create, err := parseCreate(t.Create)
	if err != nil {
		return nil, err
	}
	t.AutoIncrement = create.autoIncrement
	t.Partitioned = t.Partitioned || create.partitioning != ""
	t.Checks = create.checks
	t.Options, t.Partitioning, t.ForeignClauses = create.options, create.partitioning, create.foreign
	return create, nil
}
