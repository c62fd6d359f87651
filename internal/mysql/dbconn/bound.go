package dbconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"midstream/internal/mysql/schema"
)

// ErrOtherServer means that a new connection has led to another server than the earlier ones: a
// proxy, or a name, leads elsewhere now. The pool is of no use any more.
var ErrOtherServer = errors.New("the connection leads to another server")

// bound makes connections to one server: the server of the first connection. If a run had
// connections to two servers, it would read here and write there.
type bound struct {
	driver.Connector
	globals *strings.Replacer

	mu        sync.Mutex
	uuid      string // "" until it is known
	variables settings
}

// Connect is driver.Connector's.
func (b *bound) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, notConnected(ctx, err)
	}
	err = prepare(ctx, conn)
	if err == nil {
		err = b.check(ctx, conn)
	}
	if err == nil {
		err = b.set(ctx, conn)
	}
	if err == nil {
		return conn, nil
	}
	_ = conn.Close()
	if errors.Is(err, ErrOtherServer) {
		return nil, err
	}
	return nil, notConnected(ctx, err)
}

// check fails with ErrOtherServer if the connection leads to another server.
func (b *bound) check(ctx context.Context, conn driver.Conn) error {
	uuid, err := serverUUID(ctx, conn)
	if err == nil && !b.is(uuid) {
		err = fmt.Errorf("%w: its server_uuid is %s", ErrOtherServer, uuid)
	}
	return err
}

// is reports whether the server is the former one, if there was any.
func (b *bound) is(uuid string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uuid == "" {
		b.uuid = uuid
	}
	return b.uuid == uuid
}

// ServerUUID is the name of the server to which the pool leads, as the server has it.
func (p *Pool) ServerUUID() string {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.server.uuid
}

// serverUUID asks a connection for its server's name.
func serverUUID(ctx context.Context, conn driver.Conn) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT "+schema.ThisServer, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return "", fmt.Errorf("read server_uuid: %w", err)
	}
	uuid := fmt.Sprintf("%s", value[0])
	if err := rows.Next(value); err != io.EOF {
		return "", fmt.Errorf("read server_uuid: %w", err)
	}
	return uuid, nil
}
