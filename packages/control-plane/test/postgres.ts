import { randomUUID } from "node:crypto";
import { forEachConcurrently } from "@heddle/concurrency";
import { Client } from "pg";

/** The server that the suites run on as well, when this names one: a superuser's or database owner's URL. */
export const postgresUrl = process.env["HEDDLE_TEST_POSTGRES_URL"];

/** Makes empty databases on a server and drops them in the end. */
export function postgresDatabases(server: string) {
  const databases: string[] = [];
  const admin = async (sql: string) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  return {
    /** URL of a new one. */
    async make(): Promise<string> {
      const name = `heddle_${randomUUID().replaceAll("-", "")}`;
      await admin(`CREATE DATABASE ${name}`);
      databases.push(name);
      const url = new URL(server);
      url.pathname = `/${name}`;
      return url.href;
    },
    async drop(): Promise<void> {
      await forEachConcurrently(databases.splice(0), 8, async (name) => {
        await admin(`DROP DATABASE ${name} WITH (FORCE)`);
      });
    },
  };
}
