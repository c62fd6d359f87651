package queue

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// StoreTable is the name of the table that is a store.
const StoreTable = "midstream_service"

// storeMark is its comment: a table without it is not Midstream's, and left alone.
const storeMark = schema.Mark + "service"

// aboutRow is the id of the row that tells of the store itself: no change has it.
const aboutRow = ""

// about is what that row has.
type about struct {
	Version int `json:"version"`
	// Owner is the daemon that works with the store, or was the last one that did.
	Owner string `json:"owner"`
	// Holder names its process, for people; "" of an earlier version.
	Holder string `json:"holder,omitempty"`
}

// storeTime is how long something that is asked of the store may take.
const storeTime = 15 * time.Second

// storeTimeout is how long the connection that holds the lock may be silent before the server ends it.
const storeTimeout = 6 * storeBeat

// tableStore is a Store in a table. Everything is written by the connection that holds its lock: as
// long as that lives nobody else writes.
type tableStore struct {
	pool  *dbconn.Pool
	name  schema.Name
	owner string

	mu      sync.Mutex
	session *dbconn.Session // nil after it broke
}

// OpenTable opens the store in the table StoreTable of a database, which must be there; the table
// is made. It fails with ErrStoreTaken, ErrStoreNewer and ErrNotStore.
func OpenTable(ctx context.Context, server dbconn.Config, database string) (Store, error) {
	pool, err := dbconn.Open(ctx, server, nil)
	if err != nil {
		return nil, err
	}
	t := &tableStore{pool: pool, name: schema.Name{Schema: database, Table: StoreTable}, owner: rand.Text()}
	t.session, err = t.claim(ctx)
	if errors.Is(err, ErrStoreTaken) {
		err = takenByThe(err, t.holder(ctx))
	}
	if err == nil {
		err = t.begin(ctx)
	}
	if err != nil {
		if t.session != nil {
			t.release()
		}
		return nil, errors.Join(fmt.Errorf("open %s on %s: %w", t.name, server.Address, err), pool.Close())
	}
	return t, nil
}

// claim makes a connection that holds the lock of the store. It fails with ErrStoreTaken.
func (t *tableStore) claim(ctx context.Context) (*dbconn.Session, error) {
	session, err := t.pool.Session(ctx, fmt.Sprintf("SET SESSION wait_timeout = %d", int(storeTimeout.Seconds())))
	if err != nil {
		return nil, err
	}
	var got sql.NullInt64
	// A lock's name has at most 64 characters; a database's may have as many.
	query := fmt.Sprintf(
		"SELECT GET_LOCK(LEFT(CONCAT(%s, SHA2(%s, 256)), 64), 0)", schema.Literal(schema.Mark+"service "),
		schema.Literal(t.name.Schema),
	)
	err = session.Rows(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&got) })
	switch {
	case err != nil:
	case !got.Valid: // the request was withdrawn, or the server lacks memory
		err = errors.New("the server did not report whether the lock of the store is free")
	case got.Int64 != 1:
		err = ErrStoreTaken
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// begin makes the table if there is none, looks what it is, and makes it one of this version and daemon.
func (t *tableStore) begin(ctx context.Context) error {
	comment, there, err := t.comment(ctx)
	if err == nil && !there {
		_, err = t.session.Exec(
			ctx,
			fmt.Sprintf("CREATE TABLE %s (id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,"+
				" body LONGTEXT CHARACTER SET utf8mb4 NOT NULL, history LONGBLOB) ENGINE=InnoDB COMMENT=%s", t.name.Quoted(), schema.Literal(storeMark)),
		)
	} else if err == nil && comment != storeMark {
		err = fmt.Errorf("%w: its comment is %q", ErrNotStore, comment)
	}
	if err != nil {
		return err
	}
	is, err := t.about(ctx)
	if err == nil {
		err = checkVersion(is.Version)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(about{Version, t.owner, holder()})
	if err != nil {
		return err
	}
	return t.write(ctx, Row{ID: aboutRow, Text: text})
}

func (t *tableStore) comment(ctx context.Context) (comment string, there bool, err error) {
	err = t.session.Rows(ctx, schema.CommentQuery(t.name), func(rows *sql.Rows) error { there = true; return rows.Scan(&comment) })
	return comment, there, err
}

// about reads what the store says of itself; nothing of one that is new.
func (t *tableStore) about(ctx context.Context) (is about, err error) {
	err = t.session.Rows(
		ctx,
		fmt.Sprintf("SELECT body FROM %s WHERE id = %s", t.name.Quoted(), schema.Literal(aboutRow)),
		func(rows *sql.Rows) error {
			var text []byte
			if err := rows.Scan(&text); err != nil {
				return err
			}
			if err := json.Unmarshal(text, &is); err != nil {
				return fmt.Errorf("%w: %w", ErrNotStore, err)
			}
			return nil
		},
	)
	if dbconn.NoSuchColumn(err) {
		err = fmt.Errorf("%w: %w", ErrNotStore, err)
	}
	return is, err
}

// holder describes the process that works with the store; "" if that is not known.
func (t *tableStore) holder(ctx context.Context) string {
	var err error
	if t.session, err = t.pool.Session(ctx); err != nil {
		return ""
	}
	defer func() { t.session.Close(); t.session = nil }()
	is, err := t.about(ctx)
	if err != nil {
		return ""
	}
	return is.Holder
}

// write writes rows in one statement, by the connection that holds the lock.
func (t *tableStore) write(ctx context.Context, rows ...Row) error {
	var values, bodies []string
	for _, row := range rows {
		id, body := schema.Literal(row.ID), schema.Literal(string(row.Text))
		values, bodies = append(values, "("+id+", "+body+")"), append(bodies, "WHEN "+id+" THEN "+body)
	}
	_, err := t.session.Exec(
		ctx,
		fmt.Sprintf(
			"INSERT INTO %s (id, body) VALUES %s ON DUPLICATE KEY UPDATE body = CASE id %s END", t.name.Quoted(),
			strings.Join(values, ", "), strings.Join(bodies, " "),
		),
	)
	return err
}

// with does something with the connection that holds the lock, which is made anew where it broke.
// It fails with ErrStoreTaken where another daemon has had the store meanwhile. The end of ctx does
// not end it: a statement that is withdrawn costs the connection, and the lock.
func (t *tableStore) with(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session == nil {
		if err := t.reclaim(ctx); err != nil {
			return err
		}
	}
	err := do(ctx)
	if err != nil && dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) {
		t.session.Close()
		t.session = nil
	}
	return err
}

// errStoreAway says that the connection to the store broke, and that the server has not noticed yet.
var errStoreAway = errors.New("the store's connection broke, and the server still holds its lock")

// reclaim claims a store again.
func (t *tableStore) reclaim(ctx context.Context) error {
	session, err := t.claim(ctx)
	taken := errors.Is(err, ErrStoreTaken)
	if taken { // by another daemon, or by the connection that broke
		session, err = t.pool.Session(ctx)
	}
	if err != nil {
		return err
	}
	t.session = session
	is, err := t.about(ctx)
	switch {
	case err != nil:
	case is.Owner != t.owner:
		err = takenByThe(ErrStoreTaken, is.Holder)
	case taken:
		err = errStoreAway
	}
	if err != nil {
		session.Close()
		t.session = nil
	}
	return err
}

func (t *tableStore) Load(ctx context.Context, span Span, take func([]byte) error) error {
	query := fmt.Sprintf("SELECT body FROM %s WHERE id >= %s", t.name.Quoted(), schema.Literal(span.Low))
	if span.High != "" {
		query += " AND id < " + schema.Literal(span.High)
	}
	query += " ORDER BY id"
	if span.Newest {
		query += " DESC"
	}
	if span.Most > 0 {
		query += fmt.Sprintf(" LIMIT %d", span.Most)
	}
	return t.with(ctx, func(ctx context.Context) error {
		return t.session.Rows(ctx, query, func(rows *sql.Rows) error {
			var text []byte
			if err := rows.Scan(&text); err != nil {
				return err
			}
			return take(text)
		})
	})
}

func (t *tableStore) Put(ctx context.Context, rows ...Row) error {
	return t.with(ctx, func(ctx context.Context) error {
		for _, row := range rows {
			if row.History == nil {
				continue
			}
			packed, err := pack(row.History)
			if err != nil {
				return err
			}
			_, err = t.session.Exec(
				ctx,
				fmt.Sprintf("UPDATE %s SET history = X'%x' WHERE id = %s", t.name.Quoted(), packed, schema.Literal(row.ID)),
			)
			if dbconn.TooLarge(err) {
				err = fmt.Errorf("%w: %w", errTooLarge, err)
			}
			if err != nil {
				return err
			}
		}
		return t.write(ctx, rows...)
	})
}

// Drop uses one statement.
func (t *tableStore) Drop(ctx context.Context, ids ...string) error {
	var literals []string
	for _, id := range ids {
		literals = append(literals, schema.Literal(id))
	}
	return t.with(ctx, func(ctx context.Context) error {
		_, err := t.session.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE id IN (%s)", t.name.Quoted(), strings.Join(literals, ", ")))
		return err
	})
}

// Check uses the connection, lest the server takes it for dead.
func (t *tableStore) Check(ctx context.Context) error {
	return t.with(ctx, func(ctx context.Context) error { _, err := t.session.Exec(ctx, "DO 1"); return err })
}

func (t *tableStore) History(ctx context.Context, id string) (history []byte, err error) {
	err = t.with(ctx, func(ctx context.Context) error {
		return t.session.Rows(
			ctx,
			fmt.Sprintf("SELECT history FROM %s WHERE id = %s AND history IS NOT NULL", t.name.Quoted(), schema.Literal(id)),
			func(rows *sql.Rows) error {
				var packed []byte
				if err := rows.Scan(&packed); err != nil {
					return err
				}
				history, err = unpack(packed)
				return err
			},
		)
	})
	return history, err
}

func (t *tableStore) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != nil {
		t.release()
	}
	return t.pool.Close()
}

// release gives the lock back at once: the server may notice the end of a connection late.
func (t *tableStore) release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = t.session.Exec(ctx, "DO RELEASE_ALL_LOCKS()")
	t.session.Close()
	t.session = nil
}
