package mysqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
)

// mark begins the comment of the engine's tables, and the name of its advisory locks; its
// connections carry it as program_name.
const mark = "midstream"

// Database makes a database for the test and returns a pool of connections to it and its name. When
// the test ends, the server is looked at (see the package's law), and the database is dropped.
//
// NB: what a test opens on the server after this call is closed before the look, because cleanups
// run in reverse order; what it opened before must not use this database.
func Database(t testing.TB, i *Instance) (*sql.DB, string) {
	t.Helper()
	name := databaseName(t.Name())
	i.mu.Lock() // waits for a look at the whole server
	i.live++
	i.mu.Unlock()
	if _, err := i.admin.ExecContext(t.Context(), "CREATE DATABASE `"+name+"`"); err != nil {
		i.mu.Lock()
		i.live--
		i.mu.Unlock()
		t.Fatalf("create database %s: %v", name, err)
	}
	db, err := open(i.Config(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		i.release(t, name)
	})
	return db, name
}

// databaseName makes a name out of a test's: lower case, as some servers make it, and unique.
func databaseName(test string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	return clean[:min(len(clean), 32)] + "_" + strings.ToLower(rand.Text()[:8]) // room for 23 more
}

// release looks at what the test left, removes it, and drops the database. The test that is the
// last on the server has the whole server looked at; no test gets a database there until it has
// been.
func (i *Instance) release(t testing.TB, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	report := t.Errorf
	if t.Failed() {
		report = t.Logf
	}
	i.remove(ctx, i.look(name, false), report)
	if _, err := i.admin.ExecContext(ctx, "DROP DATABASE `"+name+"`"); err != nil {
		report("drop database %s: %v", name, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.live--; i.live == 0 {
		i.remove(ctx, i.look(name, true), report)
	}
}

// remove reports what a look finds, after some patience with what goes by itself, and kills the sessions among it.
func (i *Instance) remove(ctx context.Context, look func(context.Context) (leftovers, error), report func(string, ...any)) {
	left, err := look(ctx)
	for end := time.Now().Add(i.patience); err == nil && left.mayGo() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // connections end when the server gets to it, and tell nobody
		left, err = look(ctx)
	}
	if err != nil {
		report("look for what was left on the server: %v", err)
	}
	for _, what := range left.all() {
		report("left on the server: %s", what)
	}
	for _, s := range left.sessions { // they would be held against the next test, or hold a lock here
		_, _ = i.admin.ExecContext(ctx, fmt.Sprintf("KILL %d", s.id)) // it may be gone by now
	}
}

// Exec runs statements, or ends the test.
func Exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Text is the one value of a query, or the error.
func Text(db *sql.DB, query string) string {
	var text sql.NullString
	if err := db.QueryRow(query).Scan(&text); err != nil {
		return err.Error()
	}
	return text.String
}

// Contents lists the tables of a database, each with its number of rows.
func Contents(db *sql.DB) string {
	var parts []string
	tables := Text(db, "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()")
	for _, table := range strings.Split(tables, ",") {
		parts = append(parts, table+" "+Text(db, "SELECT COUNT(*) FROM `"+table+"`"))
	}
	return strings.Join(parts, ", ")
}
