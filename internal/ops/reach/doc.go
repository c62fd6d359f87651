// Package reach makes the commands of Midstream that a text names work when they are copied: it adds the flags by which the
// process that prints them has reached its server. Flags.In is the rule, and the only place where these flags are added.
// Variables such as MYSQL_HOST become flags too: another terminal may have others. A command that talks to a run gets the folder
// of the sockets (--control-dir), and a command for midstream serve gets --service.
//
//	"midstream undo  shop.orders"  ─►  midstream undo --host=10.0.0.5 --user=dba shop.orders
//
// The plan, the engine and the queue write a command that connects with two blanks behind its verb: there the flags belong.
// Most of these texts are made where no server is known, and none knows who reads it. So the flags are added where a text leaves
// its process or its machine:
//
//   - Writer, for all that the command line prints, text and JSON. An author of a message cannot forget it.
//   - summary.Style and the complaint of an error, before they break lines.
//   - session, for notes, plans and the answers of a control socket, which other processes, hooks, logs and histories read.
//   - what is read of a history (status, report): the flags of the run that wrote it, and not those of the reader.
//   - queue and retention: the address of the server (To), because people elsewhere read them. Commands that ask midstream serve
//     keep their blanks: midstream queue and submit know by which URL they asked.
//
// In looks for the two blanks, and for nothing else:
//
//   - Texts of others stay: names, statements, comments and messages of servers, also if they spell a command.
//   - What has its flags has one blank, so In changes nothing twice.
//   - A text that no In has seen still is a command that a shell takes. TestLayout finds
//     commands of our code without the two blanks.
//   - A command for another server has its flags already, and one blank.
package reach
