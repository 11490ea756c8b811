import { expect, test } from "vitest";
import { outageLog } from "./outages.js";

test("each reason is told once a minute, however many requests meet it, and what has none is not", () => {
  const lines: string[] = [];
  let time = 0;
  const told = outageLog(
    (line) => lines.push(line),
    () => time,
  );
  const meet = (cause: string) => told(new Error("no answer", { cause: new Error(cause) }));
  for (let request = 0; request < 10; request++) meet(`would use ${request}.5 GiB\nin a query`);
  meet("the server is gone");
  told(new Error("the disk is full"));
  expect(lines).toEqual(["no answer: would use 0.5 GiB", "no answer: the server is gone"]);
  time = 60_000;
  meet("the server is gone");
  expect(lines).toHaveLength(3);
});
