import { expect, test } from "vitest";
import { nameOf } from "./command.js";
import type { ActiveCommand } from "./command.js";
import { Keyboard } from "./keyboard.js";

const press = (key: string, more: Partial<KeyboardEvent> = {}) => {
  let taken = false;
  const event = {
    key,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    timeStamp: 0,
    target: null,
    preventDefault: () => void (taken = true),
    ...more,
  };
  return { event: event as unknown as KeyboardEvent, taken: () => taken };
};

function open(keyboard: Keyboard, name: string, keys: Record<string, string[]>, modal = false) {
  const ran: string[] = [];
  const commands: ActiveCommand[] = Object.entries(keys).map(([id, each]) => ({
    id,
    scope: name,
    title: id,
    keys: each,
    run: () => void ran.push(id),
  }));
  return { ran, close: keyboard.open({ name, modal, commands: () => commands }) };
}

test("the scope that was opened last has the first word, and a dialog the only one", () => {
  const keyboard = new Keyboard();
  const page = open(keyboard, "page", { down: ["j"], help: ["?"] });
  const panel = open(keyboard, "panel", { next: ["j"] });
  keyboard.handle(press("j").event);
  const dialog = open(keyboard, "dialog", { close: ["Escape"] }, true);
  const ignored = press("?");
  keyboard.handle(ignored.event);
  keyboard.handle(press("Escape").event);
  expect(ignored.taken()).toBe(false);
  dialog.close();
  panel.close();
  keyboard.handle(press("j").event);
  expect([page.ran, panel.ran, dialog.ran]).toEqual([["down"], ["next"], ["close"]]);
});

test("two keys one after another within a second are one command", () => {
  const keyboard = new Keyboard();
  const { ran } = open(keyboard, "page", { home: ["g h"], hide: ["h"] });
  keyboard.handle(press("g", { timeStamp: 0 }).event);
  keyboard.handle(press("h", { timeStamp: 900 }).event);
  keyboard.handle(press("g", { timeStamp: 2000 }).event);
  keyboard.handle(press("h", { timeStamp: 3100 }).event);
  expect(ran).toEqual(["home", "hide"]);
});

test("nothing is taken while a text is composed, and no character where they are turned off", () => {
  const keyboard = new Keyboard();
  const { ran } = open(keyboard, "page", { down: ["j", "ArrowDown"], palette: ["Ctrl+k"] });
  keyboard.handle(press("j", { isComposing: true }).event);
  keyboard.setLetters(false);
  for (const each of [press("j"), press("ArrowDown"), press("k", { metaKey: true })]) keyboard.handle(each.event);
  expect(ran).toEqual(["down", "palette"]);
});

test("keys have the name of what they write on each keyboard", () => {
  const none = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  expect(nameOf({ ...none, key: "?", shiftKey: true })).toBe("?");
  expect(nameOf({ ...none, key: "X", shiftKey: true })).toBe("X");
  expect(nameOf({ ...none, key: "ArrowDown", shiftKey: true })).toBe("Shift+ArrowDown");
  expect(nameOf({ ...none, key: "[", ctrlKey: true, altKey: true })).toBe("[");
  expect(nameOf({ ...none, key: " " })).toBe("Space");
  expect(nameOf({ ...none, key: "k", metaKey: true })).toBe("Ctrl+k");
});
