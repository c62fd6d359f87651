package throttle

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// A sample counts the application's statements and how long they took, including prepared ones, and
// none of ours.
func TestActivityIsTheApplications(t *testing.T) {
	for _, version := range []string{"9.7", "8.0"} {
		i := mysqltest.Server(t, version)
		application, _ := mysqltest.Database(t, i)
		ours, err := dbconn.Open(
			t.Context(),
			dbconn.Config{Network: i.Network, Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password)},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		w := watch{db: ours.DB()}
		look := func() activity {
			a, err := w.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		session, err := ours.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		look()
		for range 50 {
			if _, err := session.Exec(t.Context(), "SELECT SLEEP(0.001)"); err != nil {
				t.Fatal(err)
			}
		}
		if a := look(); a.ended() > 5 || !a.idle() { // another test's may be among them
			t.Errorf("%s: %d statements are counted, ours included: %v", version, a.ended(), a.statements)
		}
		session.Close()
		prepared, err := application.PrepareContext(t.Context(), "SELECT SLEEP(?)")
		if err != nil {
			t.Fatal(err)
		}
		defer prepared.Close()
		for range 40 {
			_, direct := application.ExecContext(t.Context(), "SELECT SLEEP(0.01)")
			_, indirect := prepared.ExecContext(t.Context(), 0.005)
			if err := errors.Join(direct, indirect); err != nil {
				t.Fatal(err)
			}
		}
		a := look()
		if a.ended() < 78 || a.ended() > 90 { // the last may not be counted yet
			t.Errorf("%s: %d statements are counted, want about 80: %v", version, a.ended(), a.statements)
		}
		for kind, least := range map[string]time.Duration{"statement/sql/select": 10 * time.Millisecond, "statement/com/Execute": 5 * time.Millisecond} {
			if mean := a.statements[kind].mean(); mean < least {
				t.Errorf("%s: a statement of kind %s took %s, want more than %s", version, kind, mean, least)
			}
		}
		if slow := a.against(map[string]float64{"statement/sql/select": 0.005}); slow < 2 {
			t.Errorf("%s: %.2f times as slow, want more than 2", version, slow)
		}
		busy, done := context.WithCancel(t.Context())
		for range 3 {
			go application.ExecContext(busy, "SELECT SLEEP(5)")
		}
		deadline := time.Now().Add(4 * time.Second)
		for a = look(); a.busy < 3 && time.Now().Before(deadline); a = look() {
			time.Sleep(10 * time.Millisecond)
		}
		done()
		if a.busy < 3 {
			t.Errorf("%s: %d sessions are busy, want 3", version, a.busy)
		}
	}
}
