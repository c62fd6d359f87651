// Package undos knows the states of the undos of a service's finished changes.
//
// A Board asks each server in the background, one connection at a time, and keeps the last answers: whoever reads them
// waits for no server. The time between two rounds grows with the length of a round, so that a server with many open
// undos gets at most about a twentieth of one connection.
package undos
