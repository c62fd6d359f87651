package queue

import (
	"errors"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/socket"
)

// Unopened is what to do about a store that can't be used.
func Unopened(err error) string {
	switch {
	case errors.Is(err, ErrStoreTaken), errors.Is(err, ErrFolderTaken):
		return "stop the other service first, or name another place by --state-dir or --store"
	case errors.Is(err, socket.ErrFolder):
		return "name another folder by --control-dir"
	case errors.Is(err, errors.ErrUnsupported):
		return "run serve on Linux or another Unix"
	case errors.Is(err, ErrStoreNewer):
		return "start that version of midstream, or name another place by --state-dir or --store"
	case dbconn.NoSuchDatabase(err):
		return "create the database (CREATE DATABASE), or name another one by --store name/database"
	case dbconn.Denied(err):
		return "grant the account of --store the privileges that docs/serve.md lists"
	}
	return "remove that cause, or name another place by --state-dir or --store"
}
