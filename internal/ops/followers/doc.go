// Package followers is about undos that follow: an undo that is held keeps the old table equal to the table, so that it
// takes the change back within one lock. Such an undo runs after midstream run --undo-mode=warm, as midstream undo --hold,
// or as a process of midstream serve. This package asks how one stands and releases it through its control socket.
package followers
