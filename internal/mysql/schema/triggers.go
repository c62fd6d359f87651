package schema

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Trigger is a trigger of a table, with all that its words mean by what the session was set to that
// created it.
type Trigger struct {
	Name    string
	Timing  string // BEFORE or AFTER
	Event   string // INSERT, UPDATE or DELETE
	Definer string // name@host
	// Create is its statement, byte by byte, in the charset Client. Its place among others of its event is
	// not in it.
	Create     []byte
	Mode       string // sql_mode
	Client     string // character_set_client
	Connection string // collation_connection
	Database   string // the collation that the database had
	// Created is when, in seconds of Unix time with two decimals; "" if the server doesn't know.
	Created string
}

// Equal reports whether both are one trigger, unchanged.
func (t Trigger) Equal(other Trigger) bool {
	return bytes.Equal(t.Create, other.Create) && t.Name == other.Name && t.Timing == other.Timing && t.Event == other.Event &&
		t.Definer == other.Definer && t.Mode == other.Mode && t.Client == other.Client && t.Connection == other.Connection &&
		t.Database == other.Database && t.Created == other.Created
}

// TriggerNames are the names of the table's triggers.
func (t *Table) TriggerNames() []string {
	var names []string
	for _, trigger := range t.Triggers {
		names = append(names, trigger.Name)
	}
	return names
}

// Triggers reads the triggers of a table in the order of firing, event by event, without the
// triggers that capture changes for us. The server shows them only with the TRIGGER privilege.
func Triggers(ctx context.Context, q Querier, table Name) ([]Trigger, error) {
	q, done, err := pin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := triggers(ctx, q, table)
	if err != nil {
		return nil, fmt.Errorf("read the triggers of %s: %w", table, err)
	}
	return all, nil
}

func triggers(ctx context.Context, q Querier, table Name) ([]Trigger, error) {
	rows, err := q.QueryContext(ctx, `
		SELECT trigger_name, action_timing, event_manipulation, IFNULL(definer, ''), IFNULL(sql_mode, ''), IFNULL(character_set_client, ''),
		       IFNULL(collation_connection, ''), IFNULL(database_collation, ''), IFNULL(UNIX_TIMESTAMP(created), ''),
		       IFNULL(action_statement, '')
		  FROM information_schema.triggers
		 WHERE event_object_schema = `+Literal(table.Schema)+` AND event_object_table = `+Literal(table.Table)+`
		 ORDER BY CAST(event_manipulation AS CHAR), CAST(action_timing AS CHAR) DESC, action_order`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Trigger
	for rows.Next() {
		var t Trigger
		var body string
		if err := rows.Scan(
			&t.Name,
			&t.Timing,
			&t.Event,
			&t.Definer,
			&t.Mode,
			&t.Client,
			&t.Connection,
			&t.Database,
			&t.Created,
			&body,
		); err != nil {
			return nil, err
		}
		if !OwnTrigger(table.Schema, t.Name, body) {
			all = append(all, t)
		}
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		return nil, err
	}
	return all, loadStatements(ctx, q, table.Schema, all)
}

// loadStatements reads the stored statements of triggers: no charset is converted, and nothing else
// of the session affects them.
func loadStatements(ctx context.Context, q Querier, database string, all []Trigger) error {
	restore, err := settleWith(ctx, q, true)
	if err != nil {
		return err
	}
	defer restore()
	for i := range all {
		if all[i].Definer == "" {
			// Without the privilege MariaDB shows the trigger, and not its statement.
			continue
		}
		if all[i].Create, err = statementOf(ctx, q, Name{Schema: database, Table: all[i].Name}); err != nil {
			return err
		}
	}
	return nil
}

// statementOf reads SHOW CREATE TRIGGER. Its columns differ between servers.
func statementOf(ctx context.Context, q Querier, trigger Name) ([]byte, error) {
	rows, err := q.QueryContext(ctx, "SHOW CREATE TRIGGER "+trigger.Quoted())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, targets := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	var statement []byte
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for i, name := range names {
			if name == "SQL Original Statement" {
				statement = bytes.Clone(values[i])
			}
		}
	}
	return statement, rows.Err()
}

// OwnTrigger reports whether a trigger of a schema is one of Midstream's triggers that capture
// changes. Such a trigger is called after the table that it writes to, and does nothing else.
func OwnTrigger(database, name, body string) bool {
	for _, event := range TriggerEvents {
		if log, is := strings.CutSuffix(name, "_"+strings.ToLower(event)); is {
			into := IntoLog(Name{Schema: database, Table: log})
			if strings.Contains(database+log, "`") { // MySQL's information_schema (5.7, 9.7) garbles such a name: `l``g` is told as `ll`gg`
				into = into[strings.LastIndexByte(into, '`'):]
			}
			return strings.Contains(body, into+"k0")
		}
	}
	return false
}

// TriggerEvents are the events that our triggers fire for. Their names end with them, in lower
// case.
var TriggerEvents = []string{"INSERT", "UPDATE", "DELETE"}

// IntoLog is how our triggers' statements begin; the columns of the key follow.
func IntoLog(log Name) string { return "INSERT INTO " + log.Quoted() + " (origin, logged, " }
