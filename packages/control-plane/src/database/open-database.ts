import { fileURLToPath } from "node:url";
import { HeddleError } from "@heddle/errors";
import type { Database } from "./database.js";
import { openPostgres } from "./postgres.js";
import { openSqlite } from "./sqlite.js";

/** The driver that a database URL asks for. */
export function openDatabase(url: string): Database {
  if (url.startsWith("file:")) return openSqlite(fileURLToPath(url));
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url);
  const scheme = url.slice(0, Math.max(0, url.indexOf(":")));
  throw new HeddleError("invalid", `no backend for ${scheme}: database URLs; give a postgres: or file: URL`, {
    loc: ["url"],
  });
}
