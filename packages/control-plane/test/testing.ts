// What the tests of other packages need to read the database of a control plane.
export { openDatabase } from "../src/database/open-database.js";
export { postgresDatabases, postgresUrl } from "./postgres.js";
