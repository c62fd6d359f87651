package schema

// ThisServer is an expression that tells the server that evaluates it from others: MySQL's
// server_uuid, and on MariaDB, which has none, its number in the topology and its place. Each takes
// the other's part for a comment: MariaDB passes over MySQL's from 5.7 on, up to 9.99
// (mariadb.com/kb, "Comment Syntax"), and MySQL over what begins with M.
const ThisServer = "/*!50700 @@GLOBAL.server_uuid *//*M! CONCAT_WS('/', @@GLOBAL.server_id, @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir) */"
