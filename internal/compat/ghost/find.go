package ghost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Place says on which server a run is at work, and who is looked at besides.
type Place struct {
	// Primary is the host:port of the server whose table is changed.
	Primary string
	// Inspected is the host:port of the one of --host.
	Inspected string
	// Ring says that the primary itself replicates from another server, and is meant.
	Ring bool
}

// Unfit says that the servers are not as the command line says. Nothing was changed.
type Unfit struct{ err error }

func (u *Unfit) Error() string { return u.err.Error() }
func (u *Unfit) Unwrap() error { return u.err }

func unfit(format string, args ...any) error { return &Unfit{fmt.Errorf(format, args...)} }

// Reached is a server while it is asked from whom it replicates.
type Reached struct {
	DB    schema.Querier
	Close func()
}

// mostHops is how far replication is followed.
const mostHops = 20

// Find finds the server whose table is to be changed, from the one of --host on. reach connects to another one.
func (a *Asked) Find(
	ctx context.Context,
	db schema.Querier,
	reach func(ctx context.Context, address string) (Reached, error),
) (Place, error) {
	place := Place{Primary: a.Server, Inspected: a.Server}
	if !a.OnReplica() && a.master != "" && (a.master != a.Server || a.said.on("allow-on-master")) {
		place.Primary, place.Ring = a.master, true
		return place, nil
	}
	sources, err := a.sources(ctx, db, a.Server)
	if err != nil {
		return place, err
	}
	switch {
	case a.OnReplica() && len(sources) == 0:
		return place, unfit("%s replicates from no server: name a replica by --host", a.Server)
	case a.OnReplica():
		place.Ring = !a.Tries()
		return place, nil
	case len(sources) == 0 && !a.said.on("allow-on-master"):
		return place, unfit("%s replicates from no server: it is the primary. Name a replica by --host, or add --allow-on-master", a.Server)
	case len(sources) == 0:
		return place, nil
	case a.master != "":
		return place, unfit("--assume-master-host and --host are the same server: add --allow-on-master, or name a replica by --host")
	}
	return a.follow(ctx, place, sources, reach)
}

// Lacking says that the account may not look from whom a server replicates. Nothing was changed.
type Lacking struct {
	address string
	lacked  plan.Risk
	// Next is what to do.
	Next string
}

func (l *Lacking) Error() string {
	return fmt.Sprintf("read the source of %s: %s, and %s", l.address, l.lacked.What, l.lacked.Why)
}

// sources are the channels by which a server replicates.
func (a *Asked) sources(ctx context.Context, db schema.Querier, address string) ([]plan.Channel, error) {
	sources, err := facts.Sources(ctx, db)
	if dbconn.Denied(err) {
		lacked, failed := facts.LackedBySources(ctx, db)
		if failed != nil {
			return nil, failed
		}
		next := lacked.Fix
		if !a.OnReplica() {
			next += "; or " + errLost.Error() + ", with --allow-on-master if that is the server of --host"
		}
		return nil, &Lacking{address, lacked, next}
	}
	if err != nil {
		return nil, fmt.Errorf("read the source of %s: %w", address, err)
	}
	return sources, nil
}

// errLost says that replication leads nowhere.
var errLost = errors.New("name the primary by --assume-master-host")

// follow goes from replica to source until there is one that has none, or has been there.
func (a *Asked) follow(
	ctx context.Context,
	place Place,
	sources []plan.Channel,
	reach func(ctx context.Context, address string) (Reached, error),
) (Place, error) {
	been := []string{a.Server}
	var ids []string
	for range mostHops {
		if len(sources) > 1 {
			return place, unfit("%s replicates from several servers: %w", place.Primary, errLost)
		}
		if at := slices.Index(ids, sources[0].SourceUUID); at >= 0 && sources[0].SourceUUID != "" {
			return a.ofRing(ctx, place, been[at+1:], reach)
		}
		ids = append(ids, sources[0].SourceUUID)
		place.Primary = sources[0].Source
		been = append(been, place.Primary)
		server, err := reach(ctx, place.Primary)
		if err != nil {
			return place, fmt.Errorf(
				"%s replicates from %s, and connecting there failed: %w; %w", been[len(been)-2], place.Primary, err,
				errLost,
			)
		}
		sources, err = a.sources(ctx, server.DB, place.Primary)
		server.Close()
		if err != nil {
			return place, err
		}
		if len(sources) == 0 {
			return place, nil
		}
	}
	return place, unfit("replication was followed over %d servers (%s): %w", mostHops, strings.Join(been, ", "), errLost)
}

// ofRing chooses among servers that replicate from each other the one that takes writes.
func (a *Asked) ofRing(
	ctx context.Context,
	place Place,
	ring []string,
	reach func(ctx context.Context, address string) (Reached, error),
) (Place, error) {
	names := strings.Join(ring, ", ")
	if !a.said.on("allow-master-master") {
		return place, unfit(
			"primaries replicate from each other (%s): add --allow-master-master, and name one by --assume-master-host if both take writes",
			names,
		)
	}
	var writable []string
	for _, address := range ring {
		server, err := reach(ctx, address)
		if err != nil {
			return place, err
		}
		var readOnly bool
		err = server.DB.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&readOnly)
		server.Close()
		if err != nil {
			return place, fmt.Errorf("check whether %s takes writes: %w", address, err)
		}
		if !readOnly {
			writable = append(writable, address)
		}
	}
	if len(writable) != 1 {
		return place, unfit("of the primaries that replicate from each other (%s) %d take writes: %w", names, len(writable), errLost)
	}
	place.Primary, place.Ring = writable[0], true
	return place, nil
}

// Meet are the flags of midstream run that follow from the servers.
func (a *Asked) Meet(place Place) (flags []string) {
	if a.safely {
		flags = append(flags, "--old-name=")
	}
	if place.Ring {
		flags = append(flags, "--source-replicates")
	}
	if place.Inspected != place.Primary {
		flags = append(flags, "--replica="+place.Inspected)
	}
	if place.Inspected != place.Primary || len(a.replicas) > 0 {
		flags = append(flags, "--find-replicas=false")
	}
	return flags
}

// Account is who connects to the primary, where that is another one than on the server of --host:
// "" and nil are as there.
func (a *Asked) Account() (user string, password *dbconn.Secret) {
	return a.masterUser, a.masterPassword
}

// Drops are the tables that are to be dropped before the run, of those that are there: the new
// table's name and the old one's, where the command line says so.
func (a *Asked) Drops(ctx context.Context, db schema.Querier) (list []schema.Name, err error) {
	for name, drops := range map[string]bool{a.shadow: a.Restarts() && !a.Reverts(), a.old: a.said.on("initially-drop-old-table")} {
		if !drops {
			continue
		}
		var there bool
		err := db.QueryRowContext(
			ctx,
			"SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = "+schema.Literal(a.Table.Schema)+
				" AND table_name = "+schema.Literal(name),
		).Scan(
			&there,
		)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", a.Table.Sibling(name), err)
		}
		if there {
			list = append(list, a.Table.Sibling(name))
		}
	}
	return list, nil
}

// Discarding is the ALTER, and with --discard-foreign-keys also the end of the table's own foreign keys.
func (a *Asked) Discarding(ctx context.Context, db schema.Querier, alter *ddl.Alter) (*ddl.Alter, error) {
	if !a.said.on("discard-foreign-keys") {
		return alter, nil
	}
	own, err := schema.OwnForeignKeys(ctx, db, alter.Table)
	if err != nil {
		return nil, err
	}
	clauses := alter.Clauses
	for _, f := range own {
		dropped := slices.ContainsFunc(
			slices.Concat(alter.DroppedForeign, alter.DroppedConstraints),
			func(name string) bool { return strings.EqualFold(name, f.Constraint) },
		)
		if !dropped {
			clauses = "DROP FOREIGN KEY " + schema.Quote(f.Constraint) + ", " + clauses // PARTITION BY comes last
		}
	}
	return ddl.ParseClauses(alter.Table, clauses)
}

// Restarts says that what an earlier run has left is not to be gone on with.
func (a *Asked) Restarts() bool { return a.said.on("initially-drop-ghost-table") && !a.Resumes() }

// Postpone makes the file of --postpone-cut-over-flag-file, if it is not there.
func (a *Asked) Postpone() error {
	if path := a.said.text("postpone-cut-over-flag-file"); path != "" {
		return makeFile(path)
	}
	return nil
}

func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--postpone-cut-over-flag-file: %w", err)
	}
	return file.Close()
}

// hostOf is the host of host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
