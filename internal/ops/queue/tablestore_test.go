package queue

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// aDatabase is one in which a store may be, and who looks at it.
type aDatabase struct {
	t      *testing.T
	db     *sql.DB
	name   string
	server dbconn.Config
}

func newDatabase(t *testing.T, version string) *aDatabase {
	t.Helper()
	i := mysqltest.Server(t, version)
	db, name := mysqltest.Database(t, i)
	d := &aDatabase{
		t:      t,
		db:     db,
		name:   name,
		server: dbconn.Config{Network: i.Network, Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password)},
	}
	t.Cleanup(func() {
		d.exec("DROP TABLE IF EXISTS midstream_service")
	})
	return d
}

func (d *aDatabase) exec(statement string) {
	d.t.Helper()
	if _, err := d.db.Exec(statement); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

func (d *aDatabase) value(query string) (text string) {
	d.t.Helper()
	if err := d.db.QueryRow(query).Scan(&text); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return text
}

func (d *aDatabase) open() (Store, error) { return OpenTable(d.t.Context(), d.server, d.name) }

func (d *aDatabase) mustOpen() Store {
	d.t.Helper()
	store, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	return store
}

func closes(t *testing.T, store Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestTableStore: what was put is there for the next daemon, and for one alone; the table has its mark.
func TestTableStore(t *testing.T) {
	for _, version := range []string{"9.7", "5.7", "mariadb-10.11"} {
		t.Run(version, func(t *testing.T) {
			d := newDatabase(t, version)
			store := d.mustOpen()
			keeps(t, store)
			if _, err := d.open(); !errors.Is(err, ErrStoreTaken) ||
				!strings.Contains(err.Error(), fmt.Sprintf("process %d of ", os.Getpid())) {
				t.Errorf("a second one: %v", err)
			}
			closes(t, store)
			store = d.mustOpen()
			kept(t, store)
			closes(t, store)
			if comment := d.value(
				"SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'midstream_service'",
			); comment != "midstream service" {
				t.Error(comment)
			}
		})
	}
}

// TestGrantsOfTheTableStore: those that docs/serve.md lists are enough, and are needed.
func TestGrantsOfTheTableStore(t *testing.T) {
	d := newDatabase(t, "9.7")
	page, err := os.ReadFile("../../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, grants, _ := strings.Cut(string(page), "\nGRANT ")
	grants, _, _ = strings.Cut(grants, " ON midstream.*")
	account := "'" + d.name[:8] + "_store'@'%'"
	d.exec("CREATE USER " + account + " IDENTIFIED BY 'secret'")
	t.Cleanup(func() { d.exec("DROP USER " + account) })
	d.server.User, d.server.Password = d.name[:8]+"_store", "secret"
	all := strings.Split(grants, ", ")
	for i, without := range all {
		rest := append(append([]string{}, all[:i]...), all[i+1:]...)
		d.exec("GRANT " + strings.Join(rest, ", ") + " ON " + d.name + ".* TO " + account)
		if store, err := d.open(); err == nil {
			err = store.Put(t.Context(), Row{"a", []byte("{}"), []byte("{}")})
			closes(t, store)
			if err == nil {
				t.Errorf("it goes without %s", without)
			}
		}
		d.exec("DROP TABLE IF EXISTS midstream_service")
		d.exec("REVOKE ALL ON " + d.name + ".* FROM " + account)
	}
	d.exec("GRANT " + grants + " ON " + d.name + ".* TO " + account)
	store := d.mustOpen()
	keeps(t, store)
	closes(t, store)
	store = d.mustOpen()
	kept(t, store)
	closes(t, store)
}

// TestTableStoreVersions: a later version's store is refused and left as it is, an earlier one's is gone on with.
func TestTableStoreVersions(t *testing.T) {
	d := newDatabase(t, "9.7")
	store := d.mustOpen()
	keeps(t, store)
	closes(t, store)
	d.exec(`UPDATE midstream_service SET body = '{"version":0}' WHERE id = ''`)
	store = d.mustOpen()
	kept(t, store)
	closes(t, store)
	if now := d.value("SELECT body FROM midstream_service WHERE id = ''"); !strings.Contains(now, `"version":6`) {
		t.Error(now)
	}
	for text, want := range map[string]error{`{"version":7,"owner":"later"}`: ErrStoreNewer, "nonsense": ErrNotStore} {
		d.exec("UPDATE midstream_service SET body = '" + text + "' WHERE id = ''")
		if _, err := d.open(); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
		if now := d.value("SELECT body FROM midstream_service WHERE id = ''"); now != text {
			t.Errorf("%s became %s", text, now)
		}
	}
}

// TestTableOfOthers: a table of that name that is not a store is left as it is.
func TestTableOfOthers(t *testing.T) {
	d := newDatabase(t, "9.7")
	d.exec("CREATE TABLE midstream_service (id VARCHAR(64) PRIMARY KEY, body TEXT, history BLOB) COMMENT='ours'")
	if _, err := d.open(); !errors.Is(err, ErrNotStore) || !strings.Contains(err.Error(), `"ours"`) {
		t.Errorf("%v", err)
	}
	if n := d.value("SELECT COUNT(*) FROM midstream_service"); n != "0" {
		t.Errorf("%s rows", n)
	}
	if _, err := OpenTable(t.Context(), d.server, d.name+"_nowhere"); !dbconn.NoSuchDatabase(err) {
		t.Errorf("%v", err)
	}
}

// TestTableStoreIsCutOff: a connection that is killed is made again, unless another daemon has had
// the store meanwhile.
func TestTableStoreIsCutOff(t *testing.T) {
	d := newDatabase(t, "9.7")
	store := d.mustOpen()
	defer closes(t, store)
	keeps(t, store)
	cut := func() {
		t.Helper()
		d.exec("KILL " + d.value("SELECT IS_USED_LOCK(LEFT(CONCAT('midstream service ', SHA2(DATABASE(), 256)), 64))"))
		for end := time.Now().Add(time.Minute); d.value("SELECT IFNULL(IS_USED_LOCK(LEFT(CONCAT('midstream service ', SHA2(DATABASE(), 256)), 64)), 0)") != "0"; {
			if time.Now().After(end) {
				t.Fatal("the lock stays")
			}
		}
	}
	put := func() error { return store.Put(t.Context(), Row{"b", []byte(`{"id":"b"}`), nil}) }
	cut()
	if put() == nil {
		t.Error("it was written by a connection that was killed")
	}
	if err := put(); err != nil {
		t.Error(err)
	}
	kept(t, store)
	cut()
	_ = put()
	other := d.mustOpen()
	if err := put(); !errors.Is(err, ErrStoreTaken) {
		t.Errorf("beside another daemon: %v", err)
	}
	closes(t, other)
	if err := put(); !errors.Is(err, ErrStoreTaken) {
		t.Errorf("after another daemon: %v", err)
	}
}

// TestHistoryOfElsewhere: the history of a run that ended on another machine comes out of the store.
func TestHistoryOfElsewhere(t *testing.T) {
	d := newDatabase(t, "9.7")
	store := d.mustOpen()
	defer closes(t, store)
	s := queue(t, store)
	if _, _, err := s.Submit(t.Context(), Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	if path, over, err := firstOf(s.Histories(t.Context(), "a")); path != "" || over || err != nil {
		t.Errorf("%s, %t, %v", path, over, err)
	}
	changed := *s.find("a")
	began := time.Now()
	changed.Place, changed.Began = "elsewhere", &began
	changed.end(StateDone, "", "")
	const text = "{\"event\":\"run\"}\n"
	if err := s.put(t.Context(), &changed, []byte(text)); err != nil {
		t.Fatal(err)
	}
	s.show(&changed)
	path, over, err := firstOf(s.Histories(t.Context(), "a"))
	if err != nil || !over || filepath.Ext(path) != ".jsonl" {
		t.Fatalf("%s, %t, %v", path, over, err)
	}
	if got, err := os.ReadFile(path); string(got) != text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func firstOf(paths []string, over bool, err error) (string, bool, error) {
	path, err := first(paths, err)
	return path, over, err
}
