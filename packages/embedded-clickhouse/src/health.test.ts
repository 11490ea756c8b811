import { createClient } from "@clickhouse/client";
import { expect, test } from "vitest";
import { testClientOptions } from "../test/client.js";

test("the engine of the test run answers", async () => {
  const client = createClient(testClientOptions());
  await expect(client.ping()).resolves.toEqual({ success: true });
  await client.close();
});
