package mysqltest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// leftovers are what a test left on the server and should not have.
type leftovers struct {
	tables   []string
	locks    []string
	sessions []session
}

// session is a connection, as the server lists it.
type session struct {
	id       int64
	database string
	program  string
	pid      string // of the client, if it says so
	what     string // command and statement
}

// replica is the program name of a replica that reads from the server: a test's doing, not the engine's.
const replica = "mysqld"

// replicates says that a replica reads from the server over the connection. MariaDB's say no name.
func (s session) replicates() bool {
	return s.program == replica || s.program == "" && strings.HasPrefix(s.what, "Binlog Dump")
}

// mayGo says whether some of it may disappear by itself: tables don't.
func (l leftovers) mayGo() bool { return len(l.locks)+len(l.sessions) > 0 }

// all describes every leftover in words.
func (l leftovers) all() (words []string) {
	for _, t := range l.tables {
		words = append(words, "table "+t)
	}
	for _, k := range l.locks {
		words = append(words, "advisory lock "+k)
	}
	for _, s := range l.sessions {
		words = append(words, fmt.Sprintf("connection %d of program %q, database %q: %s", s.id, s.program, s.database, s.what))
	}
	return words
}

// look returns the query for leftovers: in the database, or everywhere if it was the last in use.
// Of a server that is not ours, others' tables and connections are none of our business.
func (i *Instance) look(name string, everywhere bool) func(context.Context) (leftovers, error) {
	ours := i.Sandbox != nil
	return func(ctx context.Context) (leftovers, error) {
		var l leftovers
		var err error
		if l.tables, err = i.markedTables(ctx, name, everywhere && ours); err != nil {
			return l, err
		}
		if everywhere && ours {
			if l.locks, err = i.markedLocks(ctx); err != nil {
				return l, err
			}
		}
		sessions, err := i.sessions(ctx)
		for _, s := range sessions {
			switch {
			case s.database == name,
				everywhere && s.program == mark && (ours || s.pid == strconv.Itoa(os.Getpid())),
				everywhere && ours && s.program != program && !s.replicates():
				l.sessions = append(l.sessions, s)
			}
		}
		return l, err
	}
}

func (i *Instance) markedTables(ctx context.Context, name string, everywhere bool) ([]string, error) {
	query, args := "SELECT CONCAT(table_schema, '.', table_name, ' (', table_comment, ')') FROM information_schema.tables"+
		" WHERE table_comment LIKE ? AND table_comment NOT LIKE ? AND table_comment NOT LIKE ? AND table_schema = ?",
		[]any{mark + "%", mark + " old of %", mark + " truncated of %", name}
	if everywhere {
		query = "SELECT CONCAT(table_schema, '.', table_name, ' (', table_comment, ')') FROM information_schema.tables" +
			" WHERE table_comment LIKE ? AND table_comment NOT LIKE ? AND table_comment NOT LIKE ? AND table_schema <> ?"
		args[3] = "sys"
	}
	tables, err := i.texts(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	// Triggers bear no mark: they are known by what they write.
	schemas := "trigger_schema = ?"
	if everywhere {
		schemas = "trigger_schema <> ?"
	}
	triggers, err := i.texts(
		ctx,
		"SELECT CONCAT(trigger_schema, '.', trigger_name, ' (a trigger on ', event_object_table, ')') FROM information_schema.triggers"+
			" WHERE action_statement LIKE '%(origin, logged, k0%' AND "+schemas,
		args[2],
	)
	return append(tables, triggers...), err
}

// markedLocks lists the engine's advisory locks. Servers before 8.0 show none unless told to.
func (i *Instance) markedLocks(ctx context.Context) ([]string, error) {
	return i.texts(ctx, "SELECT CONCAT(object_name, ' of thread ', owner_thread_id) FROM performance_schema.metadata_locks"+
		" WHERE object_type LIKE 'USER%LOCK' AND object_name LIKE ?", mark+"%")
}

func (i *Instance) texts(ctx context.Context, query string, args ...any) (texts []string, err error) {
	rows, err := i.admin.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}

// sessions lists every connection of a client but the one that asks.
func (i *Instance) sessions(ctx context.Context) (sessions []session, err error) {
	rows, err := i.admin.QueryContext(ctx, `
		SELECT t.processlist_id, IFNULL(t.processlist_db, ''), IFNULL(a.attr_value, ''), IFNULL(p.attr_value, ''),
		       CONCAT(IFNULL(t.processlist_command, ''), ' ', LEFT(IFNULL(t.processlist_info, ''), 200))
		FROM performance_schema.threads t
		LEFT JOIN performance_schema.session_connect_attrs a
		       ON a.processlist_id = t.processlist_id AND a.attr_name = 'program_name'
		LEFT JOIN performance_schema.session_connect_attrs p
		       ON p.processlist_id = t.processlist_id AND p.attr_name = '_pid'
		WHERE t.name = 'thread/sql/one_connection' AND t.processlist_id <> CONNECTION_ID()`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s session
		if err := rows.Scan(&s.id, &s.database, &s.program, &s.pid, &s.what); err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, rows.Err()
}
