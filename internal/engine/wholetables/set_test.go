package wholetables

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
)

// TestSetHoldsAsHoldDoes: a setting that holds the swap is answered only when it surely holds, and
// is refused after the swap.
func TestSetHoldsAsHoldDoes(t *testing.T) {
	hold := map[string]string{"hold": "true", "chunk-time": "1s"}
	c := operator.NewControl(operator.CommandLineDefaults())
	if !c.Begin() {
		t.Fatal("no attempt is begun")
	}
	done := make(chan error, 1)
	go func() { done <- c.Set(t.Context(), hold) }()
	select {
	case err := <-done:
		t.Errorf("it is answered during an attempt: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	c.Attach(&Change{}, plan.Altering, nil) // it alters
	c.End(true)
	var notNow *operator.NotNow
	if err := <-done; !errors.As(err, &notNow) || c.Settings().When.Hold || c.Settings().RowCopy.Target == time.Second {
		t.Errorf("after the swap: %v, %+v", err, c.Settings())
	}
	c = operator.NewControl(operator.CommandLineDefaults())
	if !c.BeginNative(true) {
		t.Fatal("no statement is begun")
	}
	if err := c.Set(t.Context(), hold); !errors.As(err, &notNow) || c.Settings().When.Hold {
		t.Errorf("while the server changes the table: %v, hold %t", err, c.Settings().When.Hold)
	}
}

// TestWindowAfterNow: a window that is set after cutover --now counts.
func TestWindowAfterNow(t *testing.T) {
	c := operator.NewControl(operator.CommandLineDefaults())
	if err := c.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CutOver(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	later := func(hours time.Duration) string { return time.Now().Add(hours * time.Hour).UTC().Format("15:04") }
	if err := c.Set(t.Context(), map[string]string{"cutover-window": later(5) + "-" + later(6) + " UTC"}); err != nil {
		t.Fatal(err)
	}
	if c.Held(time.Now()) == "" {
		t.Error("it does not")
	}
}

// TestSetNeedsTheServer: a setting that must be checked on the server is refused while no run is at
// work there.
func TestSetNeedsTheServer(t *testing.T) {
	c := operator.NewControl(operator.CommandLineDefaults())
	var notNow *operator.NotNow
	if err := c.Set(
		t.Context(),
		map[string]string{"max-load": "Threads_flying=3", "chunk-time": "1s"},
	); !errors.As(err, &notNow) ||
		c.Settings().RowCopy.Target == time.Second {
		t.Errorf("%v", err)
	}
	if err := c.Set(t.Context(), map[string]string{"chunk-time": "1s"}); err != nil {
		t.Error(err)
	}
}
