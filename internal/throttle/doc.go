// Package throttle holds the engine back where the application needs the server.
//
// So far there is one rule, Crowd: the more sessions of others the server is busy with, the
// fewer workers copy rows, down to one that rests between its chunks.
package throttle
