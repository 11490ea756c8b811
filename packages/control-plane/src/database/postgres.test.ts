import { createServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { annotationQueueCases } from "../../test/annotation-queue-cases.js";
import { artifactCases } from "../../test/artifact-cases.js";
import { controlPlaneCases } from "../../test/cases.js";
import { jobCases } from "../../test/job-cases.js";
import { projectDeletionCases } from "../../test/project-deletion-cases.js";
import { shardCases } from "../../test/shard-cases.js";
import { linkCases } from "../../test/link-cases.js";
import { sessionCases } from "../../test/session-cases.js";
import { trackingRunCases } from "../../test/tracking-run-cases.js";
import { trainingJobCases } from "../../test/training-job-cases.js";
import { trainingModelCases } from "../../test/training-model-cases.js";
import { postgresDatabases, postgresUrl } from "../../test/postgres.js";
import { openControlPlane } from "../index.js";
import { openPostgres } from "./postgres.js";

if (postgresUrl !== undefined) {
  const server = postgresUrl;
  const databases = postgresDatabases(server);
  afterAll(async () => await databases.drop(), 240_000);

  controlPlaneCases("Postgres", async () => await databases.make());
  annotationQueueCases("Postgres", async () => await databases.make());
  jobCases("Postgres", async () => await databases.make());
  trainingJobCases("Postgres", async () => await databases.make());
  trainingModelCases("Postgres", async () => await databases.make());
  artifactCases("Postgres", async () => await databases.make());
  projectDeletionCases("Postgres", async () => await databases.make());
  sessionCases("Postgres", async () => await databases.make());
  shardCases("Postgres", async () => await databases.make());
  linkCases("Postgres", async () => await databases.make());
  trackingRunCases("Postgres", async () => await databases.make());

  describe("a Postgres server", () => {
    test("transactions about one subject wait for each other, those about another do not, and one about everything waits for all", async () => {
      const database = openPostgres(await databases.make());
      const ended: string[] = [];
      let end = () => {};
      const began = new Promise<void>((resolve) => {
        const blocked = new Promise<void>((release) => (end = release));
        void database.transaction(async () => {
          resolve();
          await blocked;
          ended.push("first");
        }, "a");
      });
      await began;
      const others = [
        database.transaction(async () => void ended.push("same"), "a"),
        database.transaction(async () => void ended.push("other"), "b"),
      ];
      await others[1];
      expect(ended).toEqual(["other"]);
      const whole = database.transaction(async () => void ended.push("everything"));
      const waiting = "SELECT count(*) AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
      await expect.poll(async () => (await database.rows(waiting))[0]?.["waiting"]).toBeGreaterThanOrEqual(2n);
      expect(ended).toEqual(["other"]);
      end();
      await Promise.all([...others, whole]);
      expect(ended.toSorted()).toEqual(["everything", "first", "other", "same"]);
      expect(ended.indexOf("first")).toBe(1);
      await database.close();
    });

    test("a database that Postgres does not know is refused, and the cause names the address without the password", async () => {
      const url = new URL(server);
      url.pathname = "/no_such_database";
      url.password = "hush";
      await expect(openControlPlane({ url: url.href })).rejects.toMatchObject({
        code: "denied",
        message: "the control plane refuses this service",
        cause: {
          message: `the Postgres server at ${url.host}/no_such_database refuses access: database "no_such_database" does not exist`,
        },
      });
    });

    test("a user without the right to make tables, or to one more connection, is refused with a reason", async () => {
      const database = await databases.make();
      const admin = openPostgres(database);
      const role = new URL(database).pathname.slice(1);
      await admin.run(`CREATE ROLE ${role} LOGIN PASSWORD 'p@ss:w/rd#? %41'`);
      const url = new URL(database);
      url.username = role;
      url.password = encodeURIComponent("p@ss:w/rd#? %41");
      const expectFailure = async (code: string, reason: string) =>
        await expect(openControlPlane({ url: url.href })).rejects.toMatchObject({
          code,
          cause: { message: expect.stringContaining(reason) },
        });
      await expectFailure("denied", "refuses access: permission denied for schema public");
      await admin.run(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      await expectFailure("busy", "is not ready: too many connections for role");
      await admin.run(`DROP ROLE ${role}`);
      await admin.close();
    });

    test("TLS that the server does not speak is refused, a certificate that is not there is named", async () => {
      await expect(openControlPlane({ url: `${server}?sslmode=no-verify` })).rejects.toMatchObject({
        code: "denied",
        cause: { message: expect.stringContaining("refuses access: The server does not support SSL connections") },
      });
      const url = `${server}?sslmode=verify-full&sslrootcert=/no/such.crt`;
      await expect(openControlPlane({ url })).rejects.toMatchObject({
        code: "invalid",
        message: "the database URL cannot be used: ENOENT: no such file or directory, open '/no/such.crt'",
      });
    });

    test("a Unix socket serves as well", async () => {
      const { port, username, pathname } = new URL(await databases.make());
      const admin = openPostgres(server);
      const [row] = await admin.rows("SHOW unix_socket_directories");
      await admin.close();
      const folder = encodeURIComponent(String(row?.["unix_socket_directories"]));
      const plane = await openControlPlane({
        url: `postgres://${pathname}?host=${folder}&port=${port}&user=${username}`,
      });
      expect(await plane.users.ensure("ann")).toMatchObject({ name: "ann" });
      await plane.close();
    });

    test.each([
      ["read-only", "default_transaction_read_only=on", "CREATE TABLE notes (id TEXT)"],
      ["slow", "statement_timeout=20", "SELECT pg_sleep(5)"],
    ])("a server that is %s is busy", async (_, setting, statement) => {
      const database = openPostgres(`${await databases.make()}?options=-c%20${setting}`);
      await expect(database.run(statement)).rejects.toMatchObject({ code: "busy" });
      expect(await database.rows("SELECT 1 AS one")).toEqual([{ one: 1n }]);
      await database.close();
    });

    test("a connection that Postgres ends is replaced, and what ran on it is busy", async () => {
      const database = openPostgres(await databases.make());
      const ended = database.rows("SELECT pg_terminate_backend(pg_backend_pid())");
      await expect(ended).rejects.toMatchObject({ code: "busy" });
      expect(await database.rows("SELECT 1 AS one")).toEqual([{ one: 1n }]);
      await database.close();
    });

    test("a connection that Postgres ends between two statements of a transaction undoes it, and nothing else", async () => {
      const url = await databases.make();
      const [database, other] = [openPostgres(url), openPostgres(url)];
      await database.run("CREATE TABLE notes (id TEXT)");
      const ended = database.transaction(async (inside) => {
        await inside.run("INSERT INTO notes (id) VALUES ($1)", ["half"]);
        const [row] = await inside.rows("SELECT pg_backend_pid() AS pid");
        await other.rows("SELECT pg_terminate_backend($1)", [row?.["pid"] ?? null]);
        // The news comes while nothing runs on the connection.
        const count = "SELECT count(*) AS n FROM pg_stat_activity WHERE pid = $1";
        await expect.poll(async () => await other.rows(count, [row?.["pid"] ?? null])).toEqual([{ n: 0n }]);
        await inside.run("INSERT INTO notes (id) VALUES ($1)", ["other half"]);
      });
      await expect(ended).rejects.toMatchObject({ code: "busy" });
      expect(await database.rows("SELECT count(*) AS n FROM notes")).toEqual([{ n: 0n }]);
      await Promise.all([database.close(), other.close()]);
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

test("a Postgres server that is not there is busy, and the cause names its address", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => closed.once("listening", resolve));
  const address = closed.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await new Promise((resolve) => closed.close(resolve));
  await expect(openControlPlane({ url: `postgres://ann:hush@127.0.0.1:${port}/heddle` })).rejects.toMatchObject({
    code: "busy",
    message: "the control plane does not respond",
    cause: {
      message: `no response from the Postgres server at 127.0.0.1:${port}/heddle: connect ECONNREFUSED 127.0.0.1:${port}`,
    },
  });
});
