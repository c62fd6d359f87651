package event

import (
	"testing"
	"time"
)

// TestL9_ABlockedRunKeepsItsName: the sessions in the way as they are later are those of the same run, so that the commands which
// status prints name its table.
func TestL9_ABlockedRunKeepsItsName(t *testing.T) {
	at := time.Now()
	was := Blocked{Run: "shop.orders", Blockers: []Blocker{{ConnectionID: 7, Age: time.Second}}, Waiting: time.Second, At: at}
	const all = 61 * time.Second
	later := was.Until(at.Add(time.Minute))
	if later.Run != was.Run || later.Waiting != all || later.Blockers[0].Age != all || !later.At.Equal(at.Add(time.Minute)) {
		t.Errorf("%+v", later)
	}
	if was.Blockers[0].Age != time.Second {
		t.Errorf("the first is changed: %+v", was)
	}
}
