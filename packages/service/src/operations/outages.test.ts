import { expect, test } from "vitest";
import { outageLog } from "./outages.js";

test("each cause is logged once a minute, however many requests fail, and an error without a cause is not", () => {
  const lines: string[] = [];
  let time = 0;
  const logOutage = outageLog(
    (line) => lines.push(line),
    () => time,
  );
  const fail = (cause: string) => logOutage(new Error("no response", { cause: new Error(cause) }));
  for (let request = 0; request < 10; request++) fail(`would use ${request}.5 GiB\nin a query`);
  fail("the server is down");
  logOutage(new Error("the disk is full"));
  expect(lines).toEqual(["no response: would use 0.5 GiB", "no response: the server is down"]);
  time = 60_000;
  fail("the server is down");
  expect(lines).toHaveLength(3);
});
