// What the tests of other packages need to look behind a control plane, or to give it another end.
export { openDatabase } from "../src/open-database.js";
export { postgresDatabases, postgresUrl } from "./postgres.js";
