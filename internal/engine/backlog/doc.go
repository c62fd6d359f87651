// Package backlog holds the changed keys that are not yet synced.
//
// A key goes through three places:
//
//	Add            Seal/Reveal                        Take            Done
//	---> segment -----------------> waiting or ready -------> batch -------> gone
//	     not visible    \           (barrier of L2)              \
//	                     \-> dropped, the row copy               Return: ready again
//	                         will read it (L4)
//
// Capture adds keys to the open segment. Seal closes it. When everything in it is visible, Reveal
// asks the frontier what each key has to wait for. Each place holds a set of keys: a row that
// changes a thousand times is synced once. The key's partition assigns it to one worker, and a
// worker takes one batch at a time. So two syncs of one key never run at once.
//
// Within a worker the ready keys form two generations: one is emptied while the other fills. So no
// key is passed over for ever, and Oldest moves up.
package backlog
