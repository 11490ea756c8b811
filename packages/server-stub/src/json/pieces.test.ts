import { expect, test } from "vitest";
import { ResponseTooLarge } from "../http.js";
import type { Sink } from "../http.js";
import { JsonPieces, withoutPieces } from "./pieces.js";
import { writeJson, writeJsonPieces } from "./write.js";
import { piecesBody } from "../response/write-slices.js";

/** A list of `count` numbers of 1,000 digits. */
function longList(count: number, onPiece: (at: number) => void = () => {}): JsonPieces {
  return new JsonPieces(count * 1001, function* () {
    yield "[";
    for (let at = 0; at < count; at++) {
      onPiece(at);
      yield `${at === 0 ? "" : ","}${"1".repeat(1000)}`;
    }
    yield "]";
  });
}

function sinkOf(texts: string[], wait: () => Promise<void> | undefined = () => undefined): Sink & { closed: boolean } {
  return {
    closed: false,
    write(chunk) {
      texts.push(String(chunk));
      return wait();
    },
    onClose() {},
  };
}

test("a value that is made while it is written is like any other", async () => {
  for (const count of [0, 3, 500]) {
    const value = { a: 1, list: longList(count), b: [longList(1)] };
    const texts: string[] = [];
    await piecesBody(writeJsonPieces(value, Infinity))(sinkOf(texts));
    expect(JSON.parse(texts.join(""))).toEqual(withoutPieces(value));
    expect(texts.join("")).toBe(writeJson(value));
  }
});

test("a long value is not made before it is written, and no faster than it is read", async () => {
  let createdPieces = 0;
  const pieces = writeJsonPieces({ list: longList(1000, () => createdPieces++) }, Infinity);
  expect(createdPieces).toBe(0);
  const texts: string[] = [];
  let read = (): void => {};
  const written = piecesBody(pieces)(sinkOf(texts, () => new Promise((resolve) => (read = resolve))));
  let [before, most] = [0, 0];
  const reading = setInterval(() => {
    most = Math.max(most, createdPieces - before);
    before = createdPieces;
    read();
  }, 1);
  await written;
  clearInterval(reading);
  expect(createdPieces).toBe(1000);
  expect(most).toBeLessThan(150);
});

test("other work is done while a long value is made", async () => {
  let turns = 0;
  let at = 0;
  const timer = setInterval(() => turns++, 0);
  await piecesBody(
    writeJsonPieces(
      longList(3000, () => at++),
      Infinity,
    ),
  )(sinkOf([]));
  clearInterval(timer);
  expect(at).toBe(3000);
  expect(turns).toBeGreaterThan(10);
});

test("a long value is made in turns with others where its sink has turns, and the first slice waits for one, too", async () => {
  const made = { pieces: 0 };
  let takeTurn = (): void => {};
  const turn = () => new Promise<void>((resolve) => (takeTurn = resolve));
  const texts: string[] = [];
  const sink = { ...sinkOf(texts, turn), giveWay: turn };
  const written = piecesBody(
    writeJsonPieces(
      longList(300, () => made.pieces++),
      Infinity,
    ),
  )(sink);
  while (made.pieces < 300) {
    const before = made.pieces;
    // Without a turn nothing is made, however long it takes.
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(made.pieces).toBe(before);
    takeTurn();
    await new Promise((resolve) => setImmediate(resolve));
    expect(made.pieces - before).toBeLessThan(70);
  }
  const end = setInterval(() => takeTurn(), 0);
  await written;
  clearInterval(end);
  expect(JSON.parse(texts.join(""))).toHaveLength(300);
});

test("nothing more is made for a client that has left", async () => {
  let createdPieces = 0;
  const sink = sinkOf([], () => {
    sink.closed = true;
    return undefined;
  });
  await piecesBody(writeJsonPieces({ list: longList(3000, () => createdPieces++) }, Infinity))(sink);
  expect(createdPieces).toBeLessThan(150);
});

test("its length counts before it is made", () => {
  expect(() => writeJsonPieces({ list: longList(1000) }, 900_000)).toThrow(ResponseTooLarge);
});
