import { expect, test } from "vitest";
import { frame, FrameReader } from "./frame.js";

test("frames are put together wherever the network cuts them", () => {
  const contents = ["", "a", "żółć 🧵", "x".repeat(300)];
  const bytes = Buffer.concat(contents.map((text) => frame(1, Buffer.from(text))));
  for (let size = 1; size <= bytes.length; size++) {
    const read: string[] = [];
    const reader = new FrameReader((content) => read.push(`${content[0]}${content.toString("utf8", 1)}`));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(read).toEqual(contents.map((text) => `1${text}`));
  }
});
