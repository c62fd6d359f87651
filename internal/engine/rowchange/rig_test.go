package rowchange_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/rowchange"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// TestMain turns this binary into a process that carries out one statement, if asked.
func TestMain(m *testing.M) {
	if os.Getenv("ROWCHANGE_TEST_ADDRESS") != "" {
		os.Exit(beChild())
	}
	mysqltest.Main(m)
}

// rig is a database of a test's own, and the events of its runs.
type rig struct {
	*testing.T
	server  *mysqltest.Instance
	address string
	db      *sql.DB
	name    string
	options rowchange.Options
	control *operator.Control
	on      func(event.Event) // called for each event

	mu     sync.Mutex
	events []event.Event
}

// onEach runs a test on one of the servers, in turn.
func onEach(t *testing.T, test func(r *rig)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			test(&rig{T: t, server: server, address: server.Address, db: db, name: name})
		})
	}
}

func (r *rig) exec(statements ...string) {
	r.Helper()
	mysqltest.Exec(r, r.db, statements...)
}

func (r *rig) text(query string) string { return mysqltest.Text(r.db, query) }

// is fails the test if a query has another value.
func (r *rig) is(query, want string) {
	r.Helper()
	if got := r.text(query); got != want {
		r.Errorf("%s is %s, and not %s", query, got, want)
	}
}

func (r *rig) listen(e event.Event) {
	if r.on != nil {
		r.on(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// notes are the texts of all notes.
func (r *rig) notes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var notes []string
	for _, e := range r.events {
		if n, is := e.(event.Note); is {
			notes = append(notes, n.Text)
		}
	}
	return strings.Join(notes, "\n")
}

func open(ctx context.Context, address, user, password string) (*dbconn.Pool, error) {
	return dbconn.Open(ctx, dbconn.Config{Network: "tcp", Address: address, User: user, Password: dbconn.Secret(password)}, nil)
}

// settings are those of a run that gives way to nobody, in small chunks.
func settings() (s operator.Settings) {
	s.RowCopy.Workers, s.RowCopy.Target, s.FullSpeed = 1, 10*time.Millisecond, true
	return s
}

// plan makes the plan of a statement.
func (r *rig) plan(text string) (*rowchange.Plan, error) {
	pool, err := open(r.Context(), r.address, r.server.User, r.server.Password)
	if err != nil {
		r.Fatal(err)
	}
	defer pool.Close()
	return rowchange.Make(r.Context(), pool, text, r.name, r.options)
}

// run carries a statement out.
func (r *rig) run(ctx context.Context, text string) (rowchange.Result, error) {
	pool, err := open(ctx, r.address, r.server.User, r.server.Password)
	if err != nil {
		return rowchange.Result{}, err
	}
	defer pool.Close()
	p, err := rowchange.Make(ctx, pool, text, r.name, r.options)
	if err != nil {
		return rowchange.Result{}, err
	}
	control := r.control
	if control == nil {
		control = operator.NewControl(settings())
	}
	return rowchange.New(pool, p, control, r.listen).Run(ctx)
}

// must is run, and fails the test on an error.
func (r *rig) must(text string) rowchange.Result {
	r.Helper()
	result, err := r.run(r.Context(), text)
	if err != nil {
		r.Fatal(err)
	}
	return result
}

// beChild is a process of its own that carries out one statement.
func beChild() int {
	ctx := context.Background()
	pool, err := open(ctx, os.Getenv("ROWCHANGE_TEST_ADDRESS"), os.Getenv("ROWCHANGE_TEST_USER"), os.Getenv("ROWCHANGE_TEST_PASSWORD"))
	if err == nil {
		var o rowchange.Options
		if rest := os.Getenv("ROWCHANGE_TEST_REST"); rest != "" {
			o.Rest = schema.Name{Schema: os.Getenv("ROWCHANGE_TEST_DATABASE"), Table: rest}
		}
		var p *rowchange.Plan
		if p, err = rowchange.Make(ctx, pool, os.Getenv("ROWCHANGE_TEST_STATEMENT"), os.Getenv("ROWCHANGE_TEST_DATABASE"), o); err == nil {
			s := settings()
			if os.Getenv("ROWCHANGE_TEST_SLOWLY") != "" {
				s.Rest = 0.95 // so that a kill comes before the end
			}
			_, err = rowchange.New(pool, p, operator.NewControl(s), event.Discard).Run(ctx)
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// killed carries a statement out by processes that are killed after up to 0.9 s, until one of them ends by itself. The process after
// that many kills is not slowed down, and has a minute. It returns how many were killed.
func (r *rig) killed(text, rest string, most int) (kills int) {
	r.Helper()
	for {
		slowly, lives := "yes", 200*time.Millisecond+rand.N(700*time.Millisecond)
		if kills >= most {
			slowly, lives = "", time.Minute
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ROWCHANGE_TEST_ADDRESS="+r.address, "ROWCHANGE_TEST_USER="+r.server.User,
			"ROWCHANGE_TEST_PASSWORD="+r.server.Password, "ROWCHANGE_TEST_DATABASE="+r.name, "ROWCHANGE_TEST_STATEMENT="+text,
			"ROWCHANGE_TEST_REST="+rest, "ROWCHANGE_TEST_SLOWLY="+slowly)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			r.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		var err error
		select {
		case err = <-done:
		case <-time.After(lives):
			_ = cmd.Process.Kill()
			err = <-done
		}
		var exited *exec.ExitError
		switch {
		case err == nil:
			return kills
		case errors.As(err, &exited) && exited.ExitCode() == 1:
			r.Fatalf("after %d kills: %s", kills, out.String())
		}
		kills++
	}
}
