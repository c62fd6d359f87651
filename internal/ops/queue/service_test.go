package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// anyone has the single token, and states no name.
var anyone = Asker{access.Everyone(""), "here"}

// reading reads statements as a run would, without its flags.
func reading(_ string, arguments []string, statement string) (tables []schema.Name, err error) {
	texts := []string{statement}
	if slices.Contains(arguments, "--together") {
		texts = strings.Split(statement, ";")
	}
	for _, text := range texts {
		s, err := ddl.ParseStatement(text)
		if err == nil {
			err = s.In("")
		}
		if err != nil {
			return nil, err
		}
		tables = append(append(tables, s.Tables()...), s.Parents...)
	}
	return tables, nil
}

// queue is a service whose changes are not begun by anybody.
func queue(t *testing.T, store Store) *Service {
	t.Helper()
	return in(t, store, t.TempDir())
}

// in is a service in a folder.
func in(t *testing.T, store Store, folder string) *Service {
	t.Helper()
	s, err := Open(
		t.Context(),
		Config{Executable: "/nowhere", Folder: folder, ControlFolder: filepath.Join(t.TempDir(), "c"), Limit: 1, Read: reading,
			Servers: []Server{{Name: "db1", Reach: []string{"--defaults-file=/etc/db1.cnf"}}, {Name: "db2", Reach: []string{"--defaults-file=/etc/db2.cnf"}}}, Note: func(text string) { t.Log(text) }},
		store,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// file is a store in a file.
func file(t *testing.T, path string) Store {
	t.Helper()
	store, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// call asks the API.
func call(t *testing.T, s *Service, method, path string, body, answer any) (status int) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(method, path, bytes.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	s.Handler().ServeHTTP(response, request.WithContext(access.With(request.Context(), access.Everyone(""))))
	if err := json.Unmarshal(response.Body.Bytes(), answer); err != nil {
		t.Fatalf("%s %s: %d, %s: %v", method, path, response.Code, response.Body, err)
	}
	return response.Code
}

func TestSubmitIsIdempotent(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	asked := Submission{
		ID:        "a",
		Server:    "db1",
		Statement: "ALTER TABLE shop.orders ADD COLUMN c INT",
		Options:   map[string]string{"drop-old": "true"},
		By:        "Ada",
	}
	var first, second Change
	if status := call(
		t,
		s,
		"POST",
		"/v1/changes",
		asked,
		&first,
	); status != http.StatusCreated || first.State != StateWaiting || first.Table != "shop.orders" ||
		first.SubmittedBy != "Ada from 192.0.2.1" {
		t.Fatalf("%d %+v", status, first)
	}
	asked.Statement = " " + asked.Statement + "\n" // which means the same
	asked.By = "Bob"
	if status := call(
		t,
		s,
		"POST",
		"/v1/changes",
		asked,
		&second,
	); status != http.StatusOK || second.Submitted != first.Submitted ||
		second.SubmittedBy != first.SubmittedBy {
		t.Errorf("%d %+v", status, second)
	}
	for name, change := range map[string]func(*Submission){
		"statement": func(s *Submission) { s.Statement = "ALTER TABLE shop.orders ADD COLUMN d INT" },
		"server":    func(s *Submission) { s.Server = "db2" },
		"options":   func(s *Submission) { s.Options = nil },
		"after":     func(s *Submission) { s.After = []string{"b"} },
	} {
		other := asked
		change(&other)
		var p socket.Problem
		if status := call(
			t,
			s,
			"POST",
			"/v1/changes",
			other,
			&p,
		); status != http.StatusConflict ||
			!strings.Contains(p.Detail, "another change has the id a") {
			t.Errorf("another %s: %d %+v", name, status, p)
		}
	}
	asked.ID = ""
	var made Change
	if status := call(
		t,
		s,
		"POST",
		"/v1/changes",
		asked,
		&made,
	); status != http.StatusCreated || !idForm.MatchString(made.ID) ||
		made.ID == first.ID {
		t.Errorf("%d %+v", status, made)
	}
	if n := len(s.Changes()); n != 2 {
		t.Errorf("%d changes", n)
	}
}

// unheard is a store whose answers are lost for a while.
type unheard struct {
	Store
	lost bool
}

func (u *unheard) Put(ctx context.Context, rows ...Row) error {
	if err := u.Store.Put(ctx, rows...); err != nil || !u.lost {
		return err
	}
	return errors.New("the answer is lost")
}

// TestASubmissionThatWasAnsweredWithAnErrorDoesNotRun: the store may have it all the same. It is
// withdrawn, and may be submitted again.
func TestASubmissionThatWasAnsweredWithAnErrorDoesNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	store := &unheard{file(t, path), true}
	s := queue(t, store)
	asked := Submission{ID: "a", Server: "db1", Statement: "ALTER TABLE shop.orders ADD COLUMN c INT"}
	if _, _, err := s.Submit(t.Context(), asked, anyone); err == nil {
		t.Fatal("it is taken")
	}
	store.lost = false
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, known := s.Change("a")
	if !known || c.State != StateWithdrawn || !strings.Contains(c.Why, "with an error, because the store") {
		t.Errorf("%t, %+v", known, c)
	}
	other := asked
	other.Statement = "ALTER TABLE shop.orders ADD COLUMN d INT"
	if _, _, err := s.Submit(t.Context(), other, anyone); err == nil {
		t.Error("another change has its id")
	}
	again, fresh, err := s.Submit(t.Context(), asked, anyone)
	if err != nil || !fresh || again.State != StateWaiting {
		t.Errorf("%+v, %t, %v", again, fresh, err)
	}
	if _, fresh, err := s.Submit(t.Context(), asked, anyone); fresh || err != nil {
		t.Errorf("it is taken twice: %t, %v", fresh, err)
	}
	store.lost = true
	if err := s.step(t.Context()); err == nil {
		t.Error("it is begun, and the store has not taken that")
	}
	if c, _ := s.Change("a"); !strings.Contains(c.Why, "the answer is lost") {
		t.Errorf("nobody is told why it does not begin: %+v", c)
	}
}

func TestBadSubmissions(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	good := Submission{ID: "x", Server: "db1", Statement: "DROP TABLE shop.orders"}
	for want, spoil := range map[string]func(*Submission){
		"db1, db2":                          func(s *Submission) { s.Server = "db9" },
		"the statement is missing":          func(s *Submission) { s.Statement = " " },
		"not one of the accepted":           func(s *Submission) { s.Statement = "INSERT INTO shop.orders VALUES (1)" },
		"The database of orders is missing": func(s *Submission) { s.Statement = "DROP TABLE orders" },
		"at most 100000": func(s *Submission) {
			s.Statement += strings.Repeat(" ", 100) + "/*" + strings.Repeat("x", longest) + "*/"
		},
		`"../x" is not an id`:  func(s *Submission) { s.ID = "../x" },
		`".." is not an id`:    func(s *Submission) { s.ID = ".." },
		"which does not exist": func(s *Submission) { s.After = []string{"y"} },
		"not set these options: control-dir, host, to": func(s *Submission) {
			s.Options = map[string]string{"host": "h", "to": "/etc/passwd", "control-dir": "/", "hold": "true"}
		},
		"not set these options: throttle-file, throttle-url": func(s *Submission) {
			s.Options = map[string]string{"throttle-url": "http://169.254.169.254", "throttle-file": "/x"}
		},
		"not set these options: defaults-file": func(s *Submission) { s.Options = map[string]string{"defaults-file": "/etc/other.cnf"} },
	} {
		asked := good
		spoil(&asked)
		var p socket.Problem
		status := call(t, s, "POST", "/v1/changes", asked, &p)
		if text := p.Detail + " " + p.Next; status != http.StatusUnprocessableEntity ||
			!strings.Contains(strings.ToLower(text), strings.ToLower(want)) ||
			p.Next == "" {
			t.Errorf("%s: %d %+v", want, status, p)
		}
	}
	if n := len(s.Changes()); n != 0 {
		t.Errorf("%d changes", n)
	}
}

// TestOrder: what a change waits for, and that nothing else holds it up.
func TestOrder(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	s.cfg.Limit = 2
	submit := func(id, server, statement string, after ...string) {
		t.Helper()
		if _, _, err := s.Submit(t.Context(), Submission{ID: id, Server: server, Statement: statement, After: after}, anyone); err != nil {
			t.Fatal(err)
		}
	}
	submit("a", "db1", "ALTER TABLE shop.orders ADD COLUMN c INT")
	submit("same", "db1", "ALTER TABLE Shop.Orders ADD COLUMN d INT")
	submit("elsewhere", "db2", "ALTER TABLE shop.orders ADD COLUMN d INT")
	submit("rename", "db1", "RENAME TABLE shop.x TO shop.y, shop.y TO shop.z")
	submit("renamed", "db1", "DROP TABLE shop.z")
	submit("child", "db1", "CREATE TABLE shop.child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES orders (id))")
	submit("after", "db2", "DROP TABLE shop.q", "rename")
	submit("free", "db1", "DROP TABLE shop.r")
	waits := func(want map[string]string) {
		t.Helper()
		for id, part := range want {
			if why := s.waitsFor(s.find(id)); part == "" && why != "" || !strings.Contains(why, part) {
				t.Errorf("%s waits: %q instead of %q", id, why, part)
			}
		}
	}
	waits(
		map[string]string{
			"a":         "",
			"same":      "a, which",
			"elsewhere": "",
			"rename":    "",
			"renamed":   "rename, which",
			"child":     "a, which",
			"after":     "it waits for change rename",
			"free":      "",
		},
	)
	become := func(id string, state State) {
		changed := *s.find(id)
		changed.State = state
		if err := s.replace(t.Context(), &changed); err != nil {
			t.Fatal(err)
		}
	}
	become("a", StateRunning)
	become("rename", StateRunning)
	waits(map[string]string{"free": "2 may run on db1", "elsewhere": "", "same": "a, which"})
	become("a", StateFailed) // which is nobody's business but theirs who come after it
	waits(map[string]string{"free": "", "same": "", "child": "same, which"})
	become("rename", StateDone)
	waits(map[string]string{"after": "", "renamed": ""})
}

// TestDependentsFail: who was to come after a change that is not done fails, and so do theirs.
func TestDependentsFail(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	for _, asked := range []Submission{{ID: "a"}, {ID: "b", After: []string{"a"}}, {ID: "c", After: []string{"b"}}} {
		asked.Server, asked.Statement = "db1", "DROP TABLE shop."+asked.ID
		if _, _, err := s.Submit(t.Context(), asked, anyone); err != nil {
			t.Fatal(err)
		}
	}
	var withdrawn Change
	if status := call(t, s, "DELETE", "/v1/changes/a", nil, &withdrawn); status != http.StatusOK || withdrawn.State != StateWithdrawn {
		t.Fatalf("%d %+v", status, withdrawn)
	}
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, before := range map[string]string{"b": "a, which is withdrawn", "c": "b, which is failed"} {
		c, _ := s.Change(id)
		if c.State != StateFailed || !strings.Contains(c.Why, before) || c.Next == "" || c.Ended == nil || c.Began != nil {
			t.Errorf("%+v", c)
		}
	}
	var p socket.Problem
	if status := call(t, s, "DELETE", "/v1/changes/b", nil, &p); status != http.StatusConflict {
		t.Errorf("%d %+v", status, p)
	}
	if status := call(
		t,
		s,
		"POST",
		"/v1/changes/b/pause",
		struct{}{},
		&p,
	); status != http.StatusConflict ||
		!strings.Contains(p.Detail, "failed") {
		t.Errorf("%d %+v", status, p)
	}
	if status := call(t, s, "GET", "/v1/changes/nobody", nil, &p); status != http.StatusNotFound {
		t.Errorf("%d %+v", status, p)
	}
	_, _, err := s.Submit(t.Context(), Submission{Server: "db1", Statement: "DROP TABLE shop.d", After: []string{"c"}}, anyone)
	if !errors.As(err, new(*socket.Problem)) {
		t.Errorf("after what has failed: %v", err)
	}
}

// TestFileStore: what was put is there for the next daemon, and for one alone.
func TestFileStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "s.db")
	store := file(t, path)
	keeps(t, store)
	if _, err := OpenFile(path); !errors.Is(err, ErrStoreTaken) {
		t.Errorf("a second one: %v", err)
	}
	lock, err := hold(filepath.Join(filepath.Dir(path), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	sign(lock)
	if _, err := OpenFile(
		path,
	); !errors.Is(err, ErrStoreTaken) ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d of ", os.Getpid())) {
		t.Errorf("nothing tells who has it: %v", err)
	}
	lock.Close()
	store.Close()
	kept(t, file(t, path))
}

// keeps fills a store that is new.
func keeps(t *testing.T, store Store) {
	t.Helper()
	ctx := t.Context()
	if history, err := store.History(ctx, "a"); history != nil || err != nil {
		t.Errorf("%q, %v", history, err)
	}
	for _, err := range []error{store.Put(ctx, Row{"a", []byte(`{"id":"a"}`), nil}), store.Put(ctx, Row{"b", []byte(`{"id":"b"}`), nil}), store.Put(ctx, Row{"a", []byte(`{"id":"a","why":"größer"}`), nil}),
		store.Put(ctx, Row{"b", []byte(`{"id":"b"}`), []byte("{}\n{}\n")}), store.Put(ctx, Row{"b", []byte(`{"id":"b"}`), nil})} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// kept proves that what keeps has written is there.
func kept(t *testing.T, store Store) {
	t.Helper()
	there := map[string]bool{}
	if err := store.Load(t.Context(), changesSpan, func(text []byte) error { there[string(text)] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(there) != 2 || !there[`{"id":"a","why":"größer"}`] || !there[`{"id":"b"}`] {
		t.Errorf("%v", there)
	}
	if history, err := store.History(t.Context(), "b"); string(history) != "{}\n{}\n" || err != nil {
		t.Errorf("%q, %v", history, err)
	}
}

// TestFileStoreVersions: a later version's store is refused and left as it is, an earlier one's is gone on with.
func TestFileStoreVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	store := file(t, path)
	keeps(t, store)
	is := func(version string) {
		t.Helper()
		db, err := bolt.Open(path, 0o600, nil)
		if err == nil {
			err = errors.Join(
				db.Update(func(tx *bolt.Tx) error { return tx.Bucket(aboutBucket).Put(versionKey, []byte(version)) }),
				db.Close(),
			)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store.Close()
	is("0")
	store = file(t, path)
	kept(t, store)
	store.Close()
	is("7")
	if _, err := OpenFile(path); !errors.Is(err, ErrStoreNewer) || !strings.Contains(err.Error(), "the store has version 7, this midstream has 6") {
		t.Errorf("%v", err)
	}
	is("two")
	if _, err := OpenFile(path); !errors.Is(err, ErrNotStore) {
		t.Errorf("%v", err)
	}
}

// TestForeignRun: a run that a service has begun elsewhere is watched by nobody here, and holds its
// table until it is withdrawn.
func TestForeignRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := queue(t, file(t, path))
	for _, id := range []string{"a", "b"} {
		if _, _, err := s.Submit(t.Context(), Submission{ID: id, Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
			t.Fatal(err)
		}
	}
	changed := *s.find("a")
	changed.State, changed.Place, changed.Process = StateRunning, "elsewhere:/x", 1
	if err := errors.Join(s.replace(t.Context(), &changed), s.step(context.Background())); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateRunning || !strings.Contains(c.Why, "elsewhere:/x") || c.Next == "" {
		t.Errorf("%+v", c)
	}
	if c, _ := s.Change("b"); c.State != StateWaiting {
		t.Errorf("%+v", c)
	}
	if c, err := s.Withdraw(t.Context(), "a", "", anyone); err != nil || c.State != StateUnknown {
		t.Errorf("%+v, %v", c, err)
	}
	if why := s.waitsFor(s.find("b")); why != "" {
		t.Error(why)
	}
}
