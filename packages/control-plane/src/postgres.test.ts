import { createServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { controlPlaneCases } from "../test/cases.js";
import { postgresDatabases, postgresUrl } from "../test/postgres.js";
import { openControlPlane } from "./index.js";
import { openPostgres } from "./postgres.js";

if (postgresUrl !== undefined) {
  const server = postgresUrl;
  const databases = postgresDatabases(server);
  afterAll(async () => await databases.drop());

  controlPlaneCases("Postgres", async () => await databases.make());

  describe("a Postgres server", () => {
    test("a database or user that Postgres does not know is refused in one line without the password", async () => {
      const url = new URL(server);
      url.pathname = "/no_such_database";
      url.password = "hush";
      await expect(openControlPlane({ url: url.href })).rejects.toMatchObject({
        code: "invalid",
        message: `the Postgres server at ${url.host}/no_such_database refuses: database "no_such_database" does not exist`,
      });
    });

    test("a connection that Postgres ends is replaced, and what ran on it is busy", async () => {
      const database = openPostgres(await databases.make());
      const ended = database.rows("SELECT pg_terminate_backend(pg_backend_pid())");
      await expect(ended).rejects.toMatchObject({ code: "busy" });
      expect(await database.rows("SELECT 1 AS one")).toEqual([{ one: 1n }]);
      await database.close();
    });

    test("transactions of two services do not overlap", async () => {
      const url = await databases.make();
      const services = [openPostgres(url), openPostgres(url)];
      await services[0]?.run("CREATE TABLE counter (n BIGINT)");
      await services[0]?.run("INSERT INTO counter (n) VALUES ($1)", [0n]);
      const count = async (i: number) =>
        await services[i % 2]?.transaction(async (inside) => {
          const [row] = await inside.rows("SELECT n FROM counter");
          await inside.run("UPDATE counter SET n = $1", [BigInt(row?.["n"] ?? 0) + 1n]);
        });
      await Promise.all(Array.from({ length: 20 }, (_, i) => count(i)));
      expect(await services[1]?.rows("SELECT n FROM counter")).toEqual([{ n: 20n }]);
      await Promise.all(services.map(async (service) => await service.close()));
    });
  });
}

test("a Postgres server that is not there is busy, in one line", async () => {
  const nobody = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => nobody.once("listening", resolve));
  const address = nobody.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await new Promise((resolve) => nobody.close(resolve));
  await expect(openControlPlane({ url: `postgres://ann:hush@127.0.0.1:${port}/heddle` })).rejects.toMatchObject({
    code: "busy",
    message: `no answer from the Postgres server at 127.0.0.1:${port}/heddle: connect ECONNREFUSED 127.0.0.1:${port}`,
  });
});
