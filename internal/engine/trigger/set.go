package trigger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/key"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Kind is the word for a log in its mark.
const Kind = "changes"

// ErrTaken means that another trigger has the name of one of ours. It was not changed.
var ErrTaken = errors.New("another trigger has the name")

// Set are the triggers on a source, and the log that they write to.
type Set struct {
	Source schema.Name
	Log    schema.Name
	Key    *key.Codec // of the source
	// Formats means that the server has binlog_format: newer servers know only one.
	Formats bool
	// Since is the table of which the log has the changes since a swap, for an undo; zero for a run's own log.
	Since schema.Name
	// Dated means that the server uses a trigger's date to decide whether a prepared statement
	// knows it (MariaDB).
	Dated bool
}

// Names are what the triggers on a log's source are called; the server has one space of names for all of
// a schema.
func Names(log schema.Name) []string {
	var names []string
	for _, event := range schema.TriggerEvents {
		names = append(names, log.Table+"_"+strings.ToLower(event))
	}
	return names
}

// columns are the names of the log's columns that hold the key.
func (s Set) columns() []string {
	names := make([]string, len(s.Key.Parts()))
	for i := range names {
		names[i] = fmt.Sprintf("k%d", i)
	}
	return names
}

// CreateLog makes the log. It fails if a table of that name is there.
func (s Set) CreateLog(ctx context.Context, session *dbconn.Session) error {
	if _, err := session.Exec(ctx, s.logStatement()); err != nil {
		return fmt.Errorf("create the log of changes %s: %w", s.Log, err)
	}
	return nil
}

// logStatement defines the key's columns as the source has them: no value may be another one in the log.
func (s Set) logStatement() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"CREATE TABLE %s (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, origin INT UNSIGNED NOT NULL, logged BOOLEAN NOT NULL",
		s.Log.Quoted(),
	)
	for i, part := range s.Key.Parts() {
		c := part.Column
		fmt.Fprintf(&b, ", k%d %s", i, c.Type)
		if c.Collation != "" && c.Charset != "binary" {
			fmt.Fprintf(&b, " CHARACTER SET %s COLLATE %s", c.Charset, c.Collation)
		}
		b.WriteString(" NULL")
	}
	mark := schema.MarkFor(Kind, s.Source)
	if s.Since != (schema.Name{}) {
		mark = schema.MarkFor(SinceKind, s.Since)
	}
	fmt.Fprintf(&b, ", PRIMARY KEY (id, origin)) ENGINE=InnoDB COMMENT=%s", schema.Literal(mark))
	return b.String()
}

// body is what the trigger for an event does. It is also how a trigger is known to be ours.
func (s Set) body(event string) string {
	names := s.columns()
	row := func(which string) string {
		logged := "@@session.sql_log_bin"
		if s.Formats {
			logged += " AND @@session.binlog_format <> 'STATEMENT'"
		}
		values := []string{"@@server_id", logged}
		for _, part := range s.Key.Parts() {
			values = append(values, which+"."+schema.Quote(part.Column.Name))
		}
		return "(" + strings.Join(values, ", ") + ")"
	}
	insert := schema.IntoLog(s.Log) + strings.Join(names, ", ") + ") VALUES "
	switch event {
	case "INSERT":
		return insert + row("NEW")
	case "DELETE":
		return insert + row("OLD")
	}
	return fmt.Sprintf("IF %s THEN %s; ELSE %s, %s; END IF", s.unchanged(), insert+row("NEW"), insert+row("OLD"), row("NEW"))
}

// unchanged returns the condition that an UPDATE leaves the key unchanged, byte by byte. Values
// that a collation considers equal may be two keys to the shadow. So may two times in an hour that
// a time zone has twice.
func (s Set) unchanged() string {
	var same []string
	for _, part := range s.Key.Parts() {
		as := "%s.%s"
		switch c := part.Column; {
		case c.DataType == "enum", c.DataType == "set":
			as = "%s.%s + 0"
		case c.DataType == "timestamp":
			as = "UNIX_TIMESTAMP(%s.%s)"
		case c.Charset != "":
			as = "CAST(%s.%s AS BINARY)"
		}
		name := schema.Quote(part.Column.Name)
		same = append(same, fmt.Sprintf(as+" = "+as, "OLD", name, "NEW", name))
	}
	return strings.Join(same, " AND ")
}

// setup is for the session that creates triggers; they keep its sql_mode. They write every value
// that the source takes, and never make a statement of the application fail.
const setup = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'"

// Asking carries a request for the source's lock out, as often as it takes.
type Asking func(ctx context.Context, request func(ctx context.Context, budget time.Duration) (lock.Outcome, error)) error

// Create makes the missing triggers, each under the source's lock, and waits for that only in
// bounded time. When it returns, every change that is not yet committed will be in the log.
// (Changes of XA transactions that were prepared before are not, on servers that hold no lock for
// them.)
func (s Set) Create(ctx context.Context, pool *dbconn.Pool, ask Asking) error {
	session, err := pool.Session(ctx, setup)
	if err != nil {
		return err
	}
	defer session.Close()
	for i, event := range schema.TriggerEvents {
		name := Names(s.Log)[i]
		create := fmt.Sprintf(
			"CREATE TRIGGER %s AFTER %s ON %s FOR EACH ROW %s", s.Source.Sibling(name).Quoted(), event,
			s.Source.Quoted(), s.body(event),
		)
		err := ask(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
			there, err := s.there(ctx, pool.DB(), name, event)
			if err != nil || there {
				return lock.Outcome{Granted: there}, err
			}
			if err := s.postdate(ctx, session, 2*budget+spare); err != nil {
				return lock.Outcome{}, err
			}
			return lock.Request(ctx, session, create, budget)
		})
		if err != nil {
			return fmt.Errorf("create trigger %s on %s: %w", name, s.Source, err)
		}
	}
	return nil
}

// spare is the time that a CREATE TRIGGER may take in addition to waiting for its lock. For the
// wait, lock.Request has its budget twice: once without a place in the queue, once in it.
const spare = time.Second

// postdate makes the session date its next statements in the future. MariaDB prepares a statement
// again that was prepared before a trigger of its table was made, and judges that by their dates.
// But a trigger's date is the beginning of its CREATE TRIGGER, in hundredths of a second, and
// statements are prepared while that waits. When they run, the log is not among their tables, and
// they fail with error 1146.
func (s Set) postdate(ctx context.Context, session *dbconn.Session, by time.Duration) error {
	if !s.Dated {
		return nil
	}
	// With sysdate_is_now, SYSDATE returns the time that was set before.
	_, err := session.Exec(ctx, "SET SESSION timestamp = DEFAULT")
	if err == nil {
		_, err = session.Exec(ctx, fmt.Sprintf("SET SESSION timestamp = UNIX_TIMESTAMP(SYSDATE(6)) + %.3f", by.Seconds()))
	}
	if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) {
		// secure_timestamp forbids it: such a statement fails, as it does with any new trigger.
		return nil
	}
	return err
}

// there reports whether a trigger of ours is on the source. It fails with ErrTaken if another one
// has its name.
func (s Set) there(ctx context.Context, db *sql.DB, name, event string) (bool, error) {
	found, err := triggers(ctx, db, s.Source.Schema, []string{name})
	if err != nil || len(found) == 0 {
		return false, err
	}
	if t := found[0]; t.Table != s.Source.Table || t.Body != s.body(event) {
		return false, fmt.Errorf("%w: %s on %s", ErrTaken, name, t.Table)
	}
	return true, nil
}

// Trigger is one trigger as the server has it.
type Trigger struct {
	Name    string
	Table   string // of the same schema
	Body    string
	Created string
}

// WritesTo reports whether the trigger is one of ours that writes to a log.
func (t Trigger) WritesTo(log schema.Name) bool {
	return slices.Contains(Names(log), t.Name) && schema.OwnTrigger(log.Schema, t.Name, t.Body)
}

// triggers reads the existing triggers with these names.
func triggers(ctx context.Context, db *sql.DB, database string, names []string) ([]Trigger, error) {
	var list []string
	for _, name := range names {
		list = append(list, schema.Literal(name))
	}
	rows, err := db.QueryContext(ctx, `
		SELECT trigger_name, event_object_table, IFNULL(action_statement, ''), IFNULL(CAST(created AS CHAR), '')
		  FROM information_schema.triggers
		 WHERE trigger_schema = `+schema.Literal(database)+` AND trigger_name IN (`+strings.Join(list, ", ")+`)
		 ORDER BY trigger_name`)
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	defer rows.Close()
	var found []Trigger
	for rows.Next() {
		var t Trigger
		if err := rows.Scan(&t.Name, &t.Table, &t.Body, &t.Created); err != nil {
			return nil, fmt.Errorf("read the triggers: %w", err)
		}
		if slices.Contains(names, t.Name) {
			found = append(found, t)
		}
	}
	return found, rows.Err()
}

// Found lists the triggers that write to a log, on whatever table: they follow theirs when that is renamed.
func Found(ctx context.Context, db *sql.DB, log schema.Name) ([]Trigger, error) {
	all, err := triggers(ctx, db, log.Schema, Names(log))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t Trigger) bool { return !t.WritesTo(log) }), nil
}

// Drop removes the triggers that write to a log, each in bounded time, and then the log. If a
// trigger can't be removed, the log stays: without it each write to the table would fail.
func Drop(ctx context.Context, pool *dbconn.Pool, log schema.Name, ask Asking, setup ...string) error {
	session, err := pool.Session(ctx, setup...)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		found, err := Found(ctx, pool.DB(), log)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		drop := "DROP TRIGGER IF EXISTS " + log.Sibling(found[0].Name).Quoted()
		err = ask(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
			return lock.Request(ctx, session, drop, budget)
		})
		if err != nil {
			return fmt.Errorf("drop trigger %s on %s: %w", found[0].Name, log.Sibling(found[0].Table), err)
		}
	}
	if _, err := session.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+log.Quoted()); err != nil {
		return fmt.Errorf("drop the log of changes %s: %w", log, err)
	}
	return nil
}

// Sight is the state, at one moment, of everything that capture by triggers relies on.
type Sight struct {
	// Table is the source's: it differs after a TRUNCATE, or after the table was built again.
	Table facts.Identity
	// Log is the log's: it differs after another session has truncated it. Then unread changes are
	// gone.
	Log facts.Identity
	// Triggers are the triggers with the names of ours. (The user's are compared under the lock of
	// the swap.)
	Triggers []Trigger
}

// String distinguishes sights: if it is the same, nothing has happened between them that the
// triggers could not see.
func (s Sight) String() string {
	text := fmt.Sprint("table ", s.Table, "; log ", s.Log)
	for _, t := range s.Triggers {
		text += fmt.Sprintf("; trigger %s on %s of %s: %s", t.Name, t.Table, t.Created, t.Body)
	}
	return text
}

// Whole reports whether the server shows the tables, and whether all triggers exist and are
// correct.
func (s Sight) Whole(set Set) bool {
	for i, name := range Names(set.Log) {
		intact := func(t Trigger) bool {
			return t.Name == name && t.Table == set.Source.Table && t.Body == set.body(schema.TriggerEvents[i])
		}
		if !slices.ContainsFunc(s.Triggers, intact) {
			return false
		}
	}
	return len(s.Table) > 0 && len(s.Log) > 0
}

// Look sees the source, the log, and the triggers that write to it.
func Look(ctx context.Context, db *sql.DB, source, log schema.Name) (s Sight, err error) {
	if s.Table, err = facts.ReadIdentity(ctx, db, source); err != nil {
		return s, fmt.Errorf("read the identity of %s: %w", source, err)
	}
	if s.Log, err = facts.ReadIdentity(ctx, db, log); err != nil {
		return s, fmt.Errorf("read the identity of %s: %w", log, err)
	}
	s.Triggers, err = triggers(ctx, db, log.Schema, Names(log))
	return s, err
}
