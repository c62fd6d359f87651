package leftovers

import (
	"context"
	"errors"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/mysql/dbconn"
)

// tornFor is how long triggers are waited for that the server can't make out.
const tornFor = 10 * time.Second

// RetryBriefly tries again for three reasons. A statement of ours that was withdrawn may still hold
// its lock, or still work on a table's triggers, or the connection must be opened again. Triggers
// that stay torn for tornFor stay so for good: the server's file of them is damaged.
func RetryBriefly(ctx context.Context, try func() error) error {
	for began := time.Now(); ; {
		err := try()
		torn := dbconn.TornTriggers(err) && time.Since(began) < tornFor
		if err == nil || !errors.Is(err, cutover.ErrNotGranted) && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) && !torn {
			return err
		}
		if dbconn.Sleep(ctx, 200*time.Millisecond) != nil {
			return err
		}
	}
}
