// Package mysqltest gives tests a real MySQL server and a database of their own, and checks after
// each test that nothing of the engine is left.
// It is imported by tests only.
//
//	func TestMain(m *testing.M) { mysqltest.Main(m) }
//
//	func TestX(t *testing.T) {
//		server := mysqltest.Server(t, "9.7")       // shared by the tests of this binary
//		db, name := mysqltest.Database(t, server)  // dropped, and looked at, when the test ends
//	}
//
// The law that holds after every test with a Database:
//   - its database holds no table whose comment carries the engine's mark;
//   - no connection has it as its default database;
//   - and once no test of the binary has a database on the server: nowhere is there a marked table,
//     an advisory lock of the engine's, or a connection that is not this package's.
//
// What goes by itself within a few seconds, as connections do that are being closed, is not held
// against the test. A test that has failed anyway is told what it left in its log only.
//
// After the last test, Main stops the servers and fails the binary if a server had crashed or a
// goroutine is left.
//
// Which server. Servers are sandbox's, fetched on first use; see there for the cache. With -short,
// tests that need one are skipped. MIDSTREAM_TEST_DSN (a data source name of go-sql-driver, with an
// account that may do everything) makes every test use that server instead, whatever version it
// asks for; there, others are at work too, so of connections elsewhere only this process's count. Where a version
// can't be had, for want of mvn say, its tests are skipped; MIDSTREAM_TEST_STRICT=1 makes them fail.
//
// A test that loops over InTurn runs on one of its versions on each commit, and on all in make matrix.
package mysqltest
