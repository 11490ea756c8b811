import { isSingleCharacter, isWriting, nameOf, partsOf } from "./command.js";
import type { ActiveCommand } from "./command.js";

/** Commands that belong together: those of a screen, of a dialog, of every page. */
export interface Scope {
  readonly name: string;
  /** Hides the scopes below it: a dialog. */
  readonly modal: boolean;
  readonly commands: () => readonly ActiveCommand[];
}

/** How long the second key of two may take. */
const sequenceMs = 1000;

/** Keys to commands: the scope that was opened last has the first word. */
export class Keyboard {
  readonly #scopes: Scope[] = [];
  readonly #listeners = new Set<() => void>();
  #begun: { name: string; at: number } | undefined;
  #version = 0;
  #letters = true;

  /** Whether single characters are commands: somebody who speaks to a computer turns them off (WCAG 2.1.4). */
  get letters(): boolean {
    return this.#letters;
  }

  setLetters(on: boolean): void {
    this.#letters = on;
  }

  /** Opens a scope; returns what closes it. */
  open(scope: Scope): () => void {
    this.#scopes.push(scope);
    this.#changed();
    return () => {
      const at = this.#scopes.lastIndexOf(scope);
      if (at >= 0) this.#scopes.splice(at, 1);
      this.#changed();
    };
  }

  /** The commands that can be run, those of the last scope first. */
  active(): ActiveCommand[] {
    const modal = this.#scopes.findLastIndex((scope) => scope.modal);
    return this.#scopes
      .slice(Math.max(0, modal))
      .toReversed()
      .flatMap((scope) => scope.commands());
  }

  readonly version = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Runs the command of a key. The browser does not get keys that were taken. */
  readonly handle = (event: KeyboardEvent): void => {
    // Also the key that ends a composition.
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    const name = nameOf(event);
    if (isModifier(event.key) || (isWriting(name) && isIn(event.target, edited))) return;
    if ((name === "Enter" || name === "Space") && isIn(event.target, pressed)) return;
    const found = this.#find(name, event.timeStamp);
    if (found === undefined) return;
    event.preventDefault();
    if (found !== "begun") found.run();
  };

  #find(name: string, at: number): ActiveCommand | "begun" | undefined {
    const commands = this.active();
    const begun = this.#begun !== undefined && at - this.#begun.at < sequenceMs ? `${this.#begun.name} ` : "";
    this.#begun = undefined;
    if (!this.#letters && isSingleCharacter(name)) return undefined;
    const both = begun === "" ? undefined : commands.find(({ keys }) => keys.includes(begun + name));
    if (both !== undefined) return both;
    const one = commands.find(({ keys }) => keys.includes(name));
    if (one !== undefined) return one;
    if (!commands.some(({ keys }) => keys.some((key) => partsOf(key).length > 1 && partsOf(key)[0] === name)))
      return undefined;
    this.#begun = { name, at };
    return "begun";
  }

  #changed(): void {
    this.#begun = undefined;
    this.#version++;
    for (const listener of this.#listeners) listener();
  }
}

const isModifier = (key: string): boolean => /^(?:Shift|Control|Alt|AltGraph|Meta|CapsLock|Dead|Process)$/.test(key);

/** Where characters are written: everything else takes them as commands. */
const edited =
  "textarea, select, [contenteditable], input:not([type=button], [type=checkbox], [type=radio], [type=reset], [type=submit])";
/** What Enter and the space key press. */
const pressed = "a, button, summary, [role=tab]";

/** The target may be the document, too, which matches nothing. */
const isIn = (target: EventTarget | null, selector: string): boolean =>
  (target as Partial<Element> | null)?.matches?.(selector) === true;
