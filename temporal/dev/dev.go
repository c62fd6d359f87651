// Package dev is a server of Temporal in one process, with its state in a file of SQLite: to try midstream-fleet, and for tests.
package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// Options say where the server is.
type Options struct {
	// File is the database; it is made if it does not exist.
	File string
	// Listen is the address, such as 127.0.0.1:7233. Nothing checks who asks: it should be one of this machine.
	Listen string
	// Namespace is made if it does not exist.
	Namespace string
}

// cluster is the name of the only one.
const clusterName = "active"

// Run serves until ctx ends. ready is called once it answers.
func Run(ctx context.Context, o Options, ready func()) error {
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("the port %q is no number", text)
	}
	c := configuration(o, host, port)
	database := c.Persistence.DataStores[sqliteplugin.PluginName].SQL
	if err := prepare(o, database); err != nil {
		return err
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "fatal"}))
	server, err := temporal.NewServer(
		temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}},
		}),
	)
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		connection, err := net.DialTimeout("tcp", o.Listen, time.Second)
		if err == nil {
			_ = connection.Close()
			ready()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	<-ctx.Done()
	return server.Stop()
}

// prepare makes the database and the namespace.
func prepare(o Options, database *config.SQL) error {
	if _, err := os.Stat(o.File); errors.Is(err, os.ErrNotExist) {
		// A kill in the middle leaves no half of it.
		unfinished := *database
		unfinished.DatabaseName += ".new"
		if err := os.RemoveAll(unfinished.DatabaseName); err != nil {
			return err
		}
		if err := sqlite.SetupSchema(&unfinished); err != nil {
			return fmt.Errorf("make the database: %w", err)
		}
		if err := os.Rename(unfinished.DatabaseName, o.File); err != nil {
			return err
		}
	}
	namespace, err := sqlite.NewNamespaceConfig(clusterName, o.Namespace, false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(database, namespace)
}

func configuration(o Options, host string, port int) *config.Config {
	database := &config.SQL{
		PluginName: sqliteplugin.PluginName, DatabaseName: o.File,
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "2"},
	}
	service := func(port int, host string) config.Service {
		s := config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: freeport.MustGetFreePort(), BindOnLocalHost: host == "", BindOnIP: host}}
		if port == 0 {
			s.RPC.GRPCPort = freeport.MustGetFreePort()
		}
		return s
	}
	own := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c := &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: "127.0.0.1"},
			Metrics: &metrics.Config{
				Prometheus: &metrics.PrometheusConfig{ListenAddress: fmt.Sprintf("127.0.0.1:%d", freeport.MustGetFreePort()), HandlerPath: "/metrics"},
			},
		},
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: own},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(port, host), "history": service(0, ""), "matching": service(0, ""), "worker": service(0, ""),
		},
		PublicClient: config.PublicClient{HostPort: own},
	}
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	return c
}
