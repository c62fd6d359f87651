// Package socket lets other processes watch and command a run, with HTTP and JSON on a Unix
// socket in a folder of its user.
// It has both ends, the server in the process of the run and the client
// in those of the commands, and the API between them, of whose types docs/openapi.yaml is made.
//
// Commands that change something are carried out one at a time: a second one is refused and told of the first (409).
// One that the run can't obey as it stands is refused (409), and so is a value that is out of its range (422). Every
// command is told as an event, with who gave it as the kernel knows it.
package socket
