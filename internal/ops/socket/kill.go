package socket

import (
	"context"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// KillCommand names a session as a display has shown it, so that the command kills no other one.
type KillCommand struct {
	Connection uint64 `json:"connection_id" doc:"id of the connection"`
	User       string `json:"user" doc:"its account, as blockers lists it; another account: nothing is killed"`
	Host       string `json:"host" doc:"its host, as blockers lists it; another host: nothing is killed"`
	AgeMS      int64  `json:"age_ms" doc:"age of its transaction or statement, as blockers lists it; a younger one: nothing is killed"`
}

// kill kills a session that holds a lock of the table.
func (s *Server) kill(ctx context.Context, _ string, c KillCommand) (string, error) {
	age := time.Duration(c.AgeMS) * time.Millisecond
	b, err := operator.Kill(ctx, s.run.Control, operator.Victim{Connection: c.Connection, User: c.User, Host: c.Host, Age: age})
	if err != nil {
		return "", err
	}
	s.run.Emit(event.Killed{Blocker: b, Waited: b.Age, At: time.Now()})
	return "killed " + b.Who(), nil
}
