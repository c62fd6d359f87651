package schema

// ThisServer is an expression that identifies the server that evaluates it. On MySQL it is
// server_uuid. MariaDB has none: there it is the server's number in the topology and its place.
// Each server takes the other's part for a comment. MariaDB passes over MySQL's from 5.7 on, up to
// 9.99 (mariadb.com/kb, "Comment Syntax"), and MySQL over a comment that begins with M.
const ThisServer = "/*!50700 @@GLOBAL.server_uuid *//*M! CONCAT_WS('/', @@GLOBAL.server_id, @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir) */"
