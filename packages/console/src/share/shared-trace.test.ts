import { expect, test } from "vitest";
import { sharedTraceOf } from "./shared-trace.js";

const base = new URL("https://heddle.example/team/console/");
const of = (path: string) => sharedTraceOf(new URL(path, base), base);

test("the link of a share names project, trace and token, below any prefix", () => {
  expect(of("share?span=s#project=a%2Fb&trace=t%26%231&token=share_x")).toEqual({
    projectId: "a/b",
    traceId: "t&#1",
    token: "share_x",
  });
  expect(of("share#project=a%2Fb&trace=t")).toBeNull();
  expect(of("share")).toBeNull();
  expect(of("share/x#project=a%2Fb&trace=t&token=share_x")).toBeUndefined();
  expect(of("/console/share#project=a%2Fb&trace=t&token=share_x")).toBeUndefined();
});
