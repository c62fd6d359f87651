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
// Capture adds keys to the open segment. Seal closes it; when everything in it is
// visible, Reveal asks the frontier what each key has to wait for. Keys are sets at
// every place, so that a row that is changed a thousand times is synced once.
// A key is assigned to one worker by the key's partition; a worker takes one batch at
// a time, so that two syncs of one key never run at once.
//
// Within a worker the ready keys form two generations: one is emptied while the
// other fills, so that no key is passed over for ever and Oldest moves up.
package backlog
