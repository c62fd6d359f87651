// Package reach makes the commands of Midstream that a text names work when they are copied: it adds the flags by which the
// process that prints them has reached its server. Flags.In is the rule, and the only place where these flags are added.
// Variables such as MYSQL_HOST become flags too: another terminal may have others.
//
//	midstream undo shop.orders  ─►  midstream undo --host=10.0.0.5 --user=dba shop.orders
//
// A text does not know who reads it: the plan, the engine and the queue write "midstream undo shop.orders". The flags are added
// where a text leaves its process or its machine:
//
//   - Writer, for all that the command line prints, text and JSON. An author of a message cannot forget it.
//   - summary.Style and the complaint of an error, before they break lines. In is idempotent, so the Writer adds nothing there.
//   - session, for notes, plans and the answers of a control socket, which other processes, hooks, logs and histories read.
//   - what is read of a history (status, report): the flags of the run that wrote it, and not those of the reader.
//   - queue and retention: the address of the server (To), because people elsewhere read them.
//
// A command as a type of its own would need no recognition. But commands are parts of sentences in about 100 places, many of
// which make a plan and know no server; each record and interface would need the type too, and the next author could still write
// a string. So In recognizes commands, by these rules:
//
//   - "midstream" begins a word, and a verb that connects follows, then flags, then a table or a quoted argument, or --list.
//     Without these, as in "midstream check lists every row", a text only mentions the verb.
//   - A command with a flag that says where a server is stays unchanged. It may be for another server.
//   - What is in quotes, backticks or comments of SQL stays unchanged, also if the quote is not closed on its line: statements,
//     comments, messages of servers. JSON is changed only in the fields that have texts of ours.
//   - A name of others is not quoted in every text. It would need to spell a complete command behind a blank to be changed.
package reach
