// Package queue is the queue of midstream serve: the submitted changes, their order, the
// processes that run them, and the store that keeps them.
//
// A change that runs is a process of its own (midstream run), in a session of its own, that writes
// to files in the change's folder and holds a lock on one of them for as long as it lives: the
// queue's daemon may end, be killed and be started again meanwhile, and finds it by that lock. What
// becomes of a change is what the last record of its run's history says (result), and nothing else.
//
// Order: changes of one table on one server run one after the other, in the order in which they
// were submitted, at most so many on a server at once, and each after those that it was to come
// after. These were there before it, so that nobody waits in a circle.
//
// What a change becomes is written to the store before it is so in memory: a daemon that is killed
// knows afterwards what it had said.
//
//	(proposed ->) waiting -> running -> done, failed, aborted, unknown
//	   |-> withdrawn, failed (one that it was to come after has failed)
//
// A change that is over and not done may be run again under its id: it waits again, with another
// number (entry.again), and keeps how its earlier attempts ended.
package queue
